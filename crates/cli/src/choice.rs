//! Enums of the library as values of a flag: their names are parsed, and their meanings are the help.

use crate::number::NotAllowed;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use shuffledp::learning::run::Choice;

/// Parses the name of a choice.
pub(crate) fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::LIST.iter().map(|(_, name, meaning)| {
        let value = PossibleValue::new(*name);
        match *meaning {
            "" => value,
            meaning => value.help(meaning),
        }
    });
    // The parser lets only listed names through.
    PossibleValuesParser::new(values)
        .try_map(|name: String| T::from_name(&name).ok_or(NotAllowed("a listed name")))
}
