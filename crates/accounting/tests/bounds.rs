//! Published bounds: against independent high-precision values, against each other, and, where they are wrong, against what refutes them.

use shuffledp_accounting::atoms::Atoms;
use shuffledp_accounting::bounds::balle_2019::{self, Inequality};
use shuffledp_accounting::bounds::shuffle_gaussian::{self, Crowd};
use shuffledp_accounting::bounds::{
    enhanced_rdp, erlingsson_2019, feldman_2021, feldman_2023, girgis_2021, kairouz_2015,
    numerical_accounting, shuffled_check_in, wang_2019, zhu_2022,
};
use shuffledp_accounting::profile::{Direction, Profile};
use shuffledp_accounting::rdp::RdpCurve;
use shuffledp_accounting::{Delta, Mechanism, Plan, Rate, Round, account};
use std::collections::HashMap;

/// One line of golden/bounds.csv.
struct Row {
    name: String,
    fields: HashMap<String, f64>,
}

impl Row {
    fn get(&self, name: &str) -> f64 {
        self.fields[name]
    }

    fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    fn count(&self, name: &str) -> u64 {
        self.get(name) as u64
    }
}

fn golden() -> Vec<Row> {
    let mut lines = include_str!("../../../golden/bounds.csv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let mut fields = line.split(',');
            let name = fields.next().unwrap().to_owned();
            let fields = header[1..]
                .iter()
                .zip(fields)
                .filter(|(_, text)| !text.is_empty())
                .map(|(name, text)| ((*name).to_owned(), text.parse().unwrap()))
                .collect();
            Row { name, fields }
        })
        .collect()
}

fn local(epsilon0: f64) -> shuffledp_accounting::LocalEpsilon {
    match Mechanism::ldp(epsilon0).unwrap() {
        Mechanism::Ldp(local) => local,
        _ => unreachable!(),
    }
}

fn categories(k: u64) -> shuffledp_accounting::Categories {
    match Mechanism::kary_response(k, 1.0).unwrap() {
        Mechanism::KaryResponse(k, _) => k,
        _ => unreachable!(),
    }
}

/// The Rényi curve of the atoms that a row names.
fn atoms_curve(row: &Row) -> RdpCurve {
    let epsilon0 = local(row.get("epsilon0"));
    let (atoms, direction) = match row.name.as_str() {
        "atoms-rdp-ldp" => (Atoms::ldp(epsilon0), Direction::Forward),
        "atoms-rdp-adaptive" => (Atoms::ldp_adaptive(epsilon0), Direction::Forward),
        "atoms-rdp-krr" => (
            Atoms::kary_blanket(categories(row.count("k")), epsilon0),
            Direction::Forward,
        ),
        "atoms-rdp-3rr" => (
            Atoms::kary_third(categories(3), epsilon0),
            Direction::Forward,
        ),
        "atoms-rdp-rr-forward" => (
            Atoms::kary_first(categories(2), epsilon0),
            Direction::Forward,
        ),
        "atoms-rdp-rr-reverse" => (
            Atoms::kary_first(categories(2), epsilon0),
            Direction::Reverse,
        ),
        other => panic!("{other}"),
    };
    let mut atoms = atoms.unwrap();
    if row.has("rate") {
        let rate = row.get("rate");
        atoms = atoms.check_in(Rate::exactly(rate).unwrap(), rate).unwrap();
    }
    let sample = if row.has("m") {
        row.count("m")
    } else {
        row.count("n")
    };
    Profile::sampled(atoms, row.count("n"), sample).rdp(direction)
}

fn evaluate(row: &Row) -> f64 {
    let (n, order) = (
        row.count("n"),
        row.fields.get("order").copied().unwrap_or(f64::NAN),
    );
    let k = row.fields.get("k").map(|&k| k as u64);
    match row.name.as_str() {
        "erlingsson-2019" => {
            erlingsson_2019::epsilon(n, row.get("epsilon0"), row.get("delta")).unwrap()
        }
        "balle-2019-hoeffding" => balle_2019::epsilon(
            Inequality::Hoeffding,
            n,
            row.get("epsilon0"),
            k,
            row.get("delta"),
        )
        .unwrap(),
        "balle-2019-bennett" => balle_2019::epsilon(
            Inequality::Bennett,
            n,
            row.get("epsilon0"),
            k,
            row.get("delta"),
        )
        .unwrap(),
        "feldman-2021" => feldman_2021::epsilon(n, row.get("epsilon0"), row.get("delta")).unwrap(),
        "feldman-2023" => feldman_2023::epsilon(n, row.get("epsilon0"), row.get("delta")).unwrap(),
        "girgis-2021-upper" => girgis_2021::shuffle_upper(n, row.get("epsilon0")).at(order),
        "girgis-2021-lower" => girgis_2021::shuffle_lower(n, row.get("epsilon0")).at(order),
        "girgis-2021-subsampled-upper" => {
            girgis_2021::sampled_upper(n, row.count("m"), row.get("epsilon0")).at(order)
        }
        "girgis-2021-subsampled-lower" => {
            girgis_2021::sampled_lower(n, row.count("m"), local(row.get("epsilon0")))
                .unwrap()
                .at(order)
        }
        "wang-2019" => {
            let (m, epsilon0) = (row.count("m"), row.get("epsilon0"));
            let base = girgis_2021::shuffle_upper(m, epsilon0);
            wang_2019::sampled(base, m as f64 / n as f64, epsilon0, 1000).at(order)
        }
        "shuffle-gaussian" => {
            let crowd = if row.has("m") {
                Crowd::Sample(row.count("m"), n)
            } else if row.has("rate") {
                Crowd::CheckIn(n, row.get("rate"))
            } else {
                Crowd::Everyone(n)
            };
            shuffle_gaussian::pair(row.get("sigma"), crowd).at(order)
        }
        "shuffle-gaussian-reverse" => shuffle_gaussian::reverse(row.get("sigma"), n).at(order),
        "kov" => kairouz_2015::epsilon(n, row.get("epsilon0"), 0.0, row.get("delta")).unwrap(),
        "strong-adversary-printed" => {
            numerical_accounting::strong_printed(n, k.unwrap(), row.get("epsilon0"), order).unwrap()
        }
        "strong-adversary-tight" => {
            numerical_accounting::strong_tight(n, k.unwrap(), row.get("epsilon0"), order)
        }
        "distributed-check-in" => {
            shuffled_check_in::distributed(n, row.get("rate"), row.get("sigma"))
                .unwrap()
                .at(order)
        }
        _ => atoms_curve(row).at(order),
    }
}

#[test]
fn every_bound_is_what_an_independent_evaluation_says() {
    let mut worst: HashMap<String, f64> = HashMap::new();
    let mut wrong = Vec::new();
    for row in golden() {
        let (got, truth) = (evaluate(&row), row.get("value"));
        let error = (got / truth - 1.0).abs();
        let error = if truth == 0.0 { got } else { error };
        let seen = worst.entry(row.name.clone()).or_default();
        *seen = seen.max(error);
        let allowed = match row.name.as_str() {
            "strong-adversary-tight" => 1e-6,
            "shuffle-gaussian" => 1e-12,
            _ => 1e-10,
        };
        if !(error <= allowed) {
            wrong.push(format!(
                "{} {:?}: {got} {truth} {error:e}",
                row.name, row.fields
            ));
        }
    }
    println!("{worst:#?}");
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
