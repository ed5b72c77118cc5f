//! `shuffledp train --search`: several rates and clips, each in a run of its own, and what all of them cost.

use super::{judged, many, simulated, source};
use crate::failure::Failure;
use crate::number::Real;
use crate::output::{Block, Grid, Report, fields};
use crate::progress::Progress;
use serde_json::json;
use shuffledp::learning::run::{RunSpec, Search, Setup, Unit};
use shuffledp::{Answer, Epsilon, grouped, plain};
use std::cell::OnceCell;

/// Runs every candidate and says how well each did.
pub(super) fn report(lists: &[String], public: bool, spec: RunSpec) -> Result<Report, Failure> {
    let search = Search {
        public,
        ..values_to_try(lists)?
    };
    let spec = spec.resolved();
    // Before data is read, which takes longer.
    search.candidates(&spec)?;
    let data = source(&spec)?;
    let setup = Setup::new(spec.clone(), data.clone())?;
    // How many rounds there are is known with the first of them.
    let bar = OnceCell::new();
    let found = search.run::<Failure>(&spec, &data, &mut |_, planned| {
        bar.get_or_init(|| Progress::of(planned, "rounds")).step();
        Ok(())
    })?;
    drop(bar);
    let judged = judged(&setup);
    let header = ["rate", "clip", "accuracy", ""];
    let mut table = Grid::new(header).right_aligned([0, 1, 2]);
    let mut csv = Grid::new(["rate", "clip", "accuracy"]);
    for (place, tried) in found.tried.iter().enumerate() {
        let (rate, clip) = (plain(tried.rate), tried.clip.map_or(String::new(), plain));
        let best = if place == found.best { "best" } else { "" };
        table.row([&rate, &clip, &format!("{:.4}", tried.accuracy), best]);
        csv.row([rate, clip, tried.accuracy.to_string()]);
    }
    let begin = format!(
        "{}\n\n{} candidates, {} each. Accuracy is on {} {judged} examples.",
        setup.about().join("\n"),
        found.tried.len(),
        many(found.rounds),
        grouped(setup.data().test().len() as u64)
    );
    let delta = plain(setup.delta().value());
    let price = |answer: &Answer<Epsilon>| {
        format!(
            "({}, {delta})-differentially private when {} ({}).",
            answer.upper(),
            setup.unit().change(answer.relation()),
            answer.upper().standing(),
        )
    };
    let mut end = match (&found.spent, &found.with_a_run) {
        (Some(search), Some(both)) => vec![
            format!("Privacy: all candidates together are {}", price(search)),
            format!("Together with one run at the best values: {}", price(both)),
        ],
        (None, Some(run)) => vec![format!(
            "Public data: the search costs no privacy. One run on as many people is {}",
            price(run)
        )],
        _ if setup.unit() == Unit::Nothing => vec!["Privacy: none.".to_owned()],
        _ => vec![format!(
            "Privacy: no finite epsilon can be proved for these rounds at delta = {delta}."
        )],
    };
    end.extend(setup.notes().iter().cloned());
    end.extend(simulated(&setup));
    let both = |answer: &Answer<Epsilon>| json!({"upper": answer.upper(), "lower": answer.lower()});
    Ok(Report {
        blocks: vec![
            Block::Paragraph(begin),
            Block::Table(table),
            Block::Line(end.join("\n")),
        ],
        json: fields(json!({
            "query": setup.spec(),
            "about": setup.about(),
            "notes": setup.notes(),
            "delta": setup.delta(),
            "search": {
                "tried": found.tried,
                "best": found.best(),
                "rounds": found.rounds,
                "unit": setup.unit(),
                "public": public,
                "spent": found.spent.as_ref().map(both),
                "with_a_run": found.with_a_run.as_ref().map(both),
            },
        })),
        csv,
        relation: found.with_a_run.as_ref().map(Answer::relation),
        after: None,
    })
}

/// Parses values to try: `rate=0.1,0.3` or `clip=0.5,1`.
fn values_to_try(lists: &[String]) -> Result<Search, Failure> {
    let mut search = Search::default();
    for list in lists {
        let refused = || {
            let allowed = "rate= or clip= and numbers, such as rate=0.03,0.1,0.3";
            Failure::value("--search", list, allowed)
        };
        let (name, values) = list.split_once('=').ok_or_else(refused)?;
        let values: Result<Vec<f64>, _> = values
            .split(',')
            .map(|value| value.parse().map(|Real(value)| value))
            .collect();
        let tried = match name.trim() {
            "rate" => &mut search.rates,
            "clip" => &mut search.clips,
            _ => return Err(refused()),
        };
        tried.extend(values.map_err(|_| refused())?);
    }
    Ok(search)
}
