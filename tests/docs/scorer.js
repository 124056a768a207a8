// SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// How the search orders its results: pages that answer a question come before lists of everything and pages for
// developers, and these before the reference of plugins and roles, which has most of the words.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) =>
    kind === "title" || kind === "index"
      ? score
      : /^reference\/(?!index)/.test(docname)
        ? score / 4
        : /^(architecture|adding_|decisions|playbooks|proof|variables|verdicts_simulated|awx\/|project\/)/.test(docname)
          ? score / 2
          : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Results show a piece of each page. A browser does not give it to pages that were opened as a file.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
