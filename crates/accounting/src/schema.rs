//! The JSON Schema of a round's description, made from the catalog.
//!
//! It is checked in beside the crate (`schema/round.schema.json`) for programs that write or read
//! descriptions, and a test keeps the two the same.

use crate::catalog::{Entry, catalog};
use crate::error::Parameter;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of a [`crate::RoundSpec`].
///
/// ```
/// let schema = shuffledp_accounting::round_schema();
/// assert_eq!(schema["title"], "A kind of shuffled rounds");
/// ```
pub fn round_schema() -> Value {
    let names: Vec<&str> = catalog().map(Entry::name).collect();
    let mut properties = Map::new();
    let own = json!({
        "enum": names,
        "default": "ldp",
        "description": "The randomizer, by its name in the catalog.",
    });
    properties.insert("randomizer".into(), own);
    for &parameter in Parameter::OF_RANDOMIZERS {
        properties.insert(parameter.field().into(), described(parameter));
    }
    for parameter in [
        Parameter::Users,
        Parameter::Sample,
        Parameter::CheckIn,
        Parameter::Colluding,
        Parameter::Rounds,
    ] {
        properties.insert(parameter.field().into(), described(parameter));
    }
    let adaptive = json!({
        "type": "boolean",
        "default": false,
        "description": "Whether a report may depend on earlier reports of the same round.",
    });
    properties.insert("adaptive_within_round".into(), adaptive);
    let repeat = json!({
        "type": "number",
        "description": "Another name of rounds, in plan files.",
    });
    properties.insert("repeat".into(), repeat);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A kind of shuffled rounds",
        "type": "object",
        "properties": properties,
        "required": ["users"],
        "additionalProperties": false,
        "allOf": catalog().map(requirements).collect::<Vec<_>>(),
    })
}

/// The type of a parameter, and its meaning.
fn described(parameter: Parameter) -> Value {
    let mut value = match parameter {
        Parameter::Domain => json!({"enum": ["interval", "ball"], "default": "interval"}),
        Parameter::Relation => json!({"enum": ["replace-by-nothing", "add-or-remove"]}),
        Parameter::Rows => {
            json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}})
        }
        Parameter::CheckIn => {
            per_user(json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}))
        }
        Parameter::Epsilon0 => per_user(json!({"type": "number", "minimum": 0})),
        Parameter::Colluding => {
            json!({"type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0})
        }
        Parameter::Rounds => {
            json!({"type": "number", "minimum": 1, "maximum": 1e9, "multipleOf": 1, "default": 1})
        }
        Parameter::Users | Parameter::Categories => {
            json!({"type": "number", "minimum": 2, "multipleOf": 1})
        }
        Parameter::Sample | Parameter::Dimension => {
            json!({"type": "number", "minimum": 1, "multipleOf": 1})
        }
        _ => json!({"type": "number", "minimum": 0}),
    };
    let meaning = parameter.meaning();
    let sentence = format!("{}{}.", meaning[..1].to_uppercase(), &meaning[1..]);
    value["description"] = json!(sentence);
    value
}

/// One number, or the range that everybody's own lies in.
fn per_user(one: Value) -> Value {
    let range = json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2});
    json!({"oneOf": [one, range]})
}

/// The parameters that a randomizer needs, those that it does not have, and an ε₀ that is no range.
fn requirements(entry: &Entry) -> Value {
    let needs: Vec<&str> = entry.needs().iter().map(|p| p.field()).collect();
    let others = Parameter::OF_RANDOMIZERS
        .iter()
        .filter(|p| !entry.needs().contains(p) && !entry.takes().contains(p));
    let mut properties: Map<String, Value> = others
        .map(|parameter| (parameter.field().to_owned(), json!(false)))
        .collect();
    if entry.needs().contains(&Parameter::Epsilon0) && !entry.takes_own_epsilon0() {
        let field = Parameter::Epsilon0.field().to_owned();
        properties.insert(field, json!({"type": "number"}));
    }
    let mut named = json!({"properties": {"randomizer": {"const": entry.name()}}});
    if entry.name() != "ldp" {
        named["required"] = json!(["randomizer"]);
    }
    json!({"if": named, "then": {"required": needs, "properties": properties}})
}
