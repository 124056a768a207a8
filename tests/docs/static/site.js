// SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The keyboard reaches tables and code that are wider than the window, so that they can be scrolled.
const wide = () => {
  for (const region of document.querySelectorAll(".table-wrapper, pre")) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  }
};
addEventListener("load", wide);
addEventListener("resize", wide);
