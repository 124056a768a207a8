"""JSON of the samples of imports, series, plans and tools' outputs."""
import dataclasses, glob, json, os, sys
sys.path[:0]=["tests/unit/support"]
def norm(x):
    if hasattr(x,"_asdict"): return norm(x._asdict())
    if dataclasses.is_dataclass(x): return norm(dataclasses.asdict(x))
    if isinstance(x,dict): return {str(k):norm(v) for k,v in x.items()}
    if isinstance(x,(list,tuple)): return [norm(v) for v in x]
    if isinstance(x,(set,frozenset)): return sorted(map(str,x))
    return x if isinstance(x,(str,int,float,bool,type(None))) else repr(x)
import pytest
OUT={}
def test_oracle(tmp_path):
    B="ansible_collections.zpower.sap_tuning.plugins."
    import importlib
    imp=lambda n: importlib.import_module(B+n)
    cf=imp("plugin_utils._imports.cpu_files"); cw=imp("plugin_utils._imports.cpu_window")
    for f in sorted(glob.glob("tests/unit/fixtures/nmon/*")+glob.glob("tests/unit/fixtures/sysstat/*")):
        for o in ({},{"cpus":4.0},{"date":"2026-11-20","smc_r":True}):
            try: w=cf.window_of(f,"auto",cw.WindowOptions(**o)); OUT[f+str(o)]=norm(w.result())
            except Exception as e: OUT[f+str(o)]=repr(e)
    rec=imp("plugin_utils._imports.records"); rows=imp("plugin_utils._imports.rows"); summ=imp("plugin_utils._imports.summary")
    base={"change":"c","host":"h","workload":"w","source":{"kind":"rmf","text":"t"}}
    data=[{"phase":p,"started":f"2026-11-{9+i:02}T22:00:00+01:00","elapsed_s":100+i*3+(p=="after")*-9,"units":60000,"unit":"account","client":{"utilization_pct":80,"cpus_online":128},"server.cpu_s":44+i,"params":{"a":"07","b":1.5}} for p in ("before","after") for i in range(3)]
    data+=[{"phase":"before","workload":"x","round":1,"latency_us":3.5,"client":{"user_s":1,"system_s":2},"elapsed_s":9},{"phase":"before","workload":"x","round":1,"latency_us":3.6,"elapsed_s":9,"client":{"user_s":1,"system_s":2}},{"phase":"before","workload":"x","round":1,"error":"e","warmup":True}]
    got=rec.records_of(rows.from_list(data),base); OUT["import"]=norm(got); OUT["states"]=norm(summ.states_of(got.records))
    bad=[{"phase":"b"},{"phase":"b","elapsed_s":0},{"phase":"b","elapsed_s":1,"ok":False},{"phase":"b","elapsed_s":3,"client":{"user_s":1}},{"phase":"b","metrics":{"q":1}},{"phase":"b","elapsd":1},{"phase":"b","started":"x"},{"phase":"b","elapsed_s":1,"round":1},{"phase":"b","elapsed_s":1,"round":1,"params":{"x":1}},{"phase":"b","elapsed_s":1,"metrics":{"elapsed_s":1}}]
    for i,b in enumerate(bad): OUT["bad%d"%i]=norm(rec.records_of(rows.from_list([b]),base))
    OUT["badall"]=norm(rec.records_of(rows.from_list(bad),base))
    import experiments as ex, records_factory as factory
    rf=imp("plugin_utils._records.record_files")
    plan=ex.make_plan(rounds=6,most=16); OUT["plan"]=norm(plan); OUT["plan2"]=norm(ex.make_plan(ex.RPS,ex.POLARIZATION,seed=4))
    from records_factory import write_change
    for eff,noise in (({"every-4":-.25,"all":-.05},.005),({},.05)):
        p=tmp_path/str(noise); write_change(p,list(ex.make_records(plan,eff,None,noise)),list(ex.make_tunings(plan)))
        loaded=rf.load_change(p,ex.CHANGE); comparing=imp("plugin_utils._compare.comparing")
        rep=comparing.compare_change(dataclasses.replace(loaded,experiment=dict(plan)),options=comparing.Options()); OUT["exp%s"%noise]=norm(rep["experiment"])
        cal=imp("plugin_utils._series.calibrating")
        recs=[r for r in loaded.records if r.phase=="off"]
        OUT["cal%s"%noise]=norm(cal.calibrate("c",recs,cal.Planned(6,5.0),["p"]))
        sc=imp("plugin_utils._series.scaling"); OUT["sc%s"%noise]=norm(sc.scaling("c",loaded.records,"connections")); 
        tr=imp("plugin_utils._series.trend"); 
        rep=comparing.compare_change(loaded,options=comparing.Options(),states=("off","every-4"))
        OUT["tr%s"%noise]=norm(tr.trend("t",[tr.TrendStep("a","A",rep["comparisons"],rep["problems"]),tr.TrendStep("b","B",rep["comparisons"],())]))
    with open(os.environ["ORACLE_OUT"],"w") as s: json.dump(OUT,s,indent=1,sort_keys=True)
