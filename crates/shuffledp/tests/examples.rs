//! Every example runs to its end.

macro_rules! runs {
    ($($example:ident)*) => {$(
        mod $example {
            include!(concat!("../examples/", stringify!($example), ".rs"));

            #[test]
            fn runs() {
                main().unwrap();
            }
        }
    )*};
}

runs!(first_answer budget_for_a_survey collect_a_histogram your_own_randomizer);
#[cfg(feature = "learning")]
runs!(train_a_model);
