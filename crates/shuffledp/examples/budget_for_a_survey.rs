//! A budget for a survey: 50,000 people answer one of ten categories every week for a year, and nobody
//! may lose more than epsilon = 1 at delta = 1e-8 over all of it. How much noise is needed, and what is
//! left after some weeks?

use shuffledp::{Accountant, Delta, Epsilon, Error, Mechanism, Plan, Round, Unknown, calibrate};

fn main() -> Result<(), Error> {
    let (users, weeks) = (50_000, 52);
    let (budget, delta) = (Epsilon::new(1.0)?, Delta::new(1e-8)?);

    // The largest epsilon0 of k-ary randomized response that keeps 52 rounds within the budget.
    let round_at = |epsilon0| Round::new(Mechanism::kary_response(10, epsilon0)?, users);
    let plan_at = |epsilon0| Plan::new(round_at(epsilon0)?, weeks);
    let solved = calibrate(Unknown::Epsilon0, budget, delta, plan_at)?;
    println!("epsilon0 = {:.4} in each week", solved.value);

    // The ledger: each week is recorded as it happens, and the next one is asked for before it is run.
    let round = round_at(solved.value)?;
    let mut ledger = Accountant::new("survey", users)?;
    for week in [1, 26, 52] {
        ledger.compose(&round, week - ledger.rounds())?;
        let spent = ledger.epsilon(delta)?.upper().get();
        println!("after week {week}: epsilon at most {:.4}", spent.value());
        assert!(spent <= budget);
    }
    assert!(ledger.would_exceed(&round, 1, budget, delta)?);

    // It is stored as JSON, and goes on from there.
    assert_eq!(Accountant::from_json(&ledger.to_json())?.rounds(), weeks);
    Ok(())
}

#[test]
fn runs() -> Result<(), Error> {
    main()
}
