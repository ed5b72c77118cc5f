//! `shuffledp keys`: the keys of the shuffler, of the analyzer and of an issuer, and tokens by which a
//! running shuffler knows people.

use crate::failure::Failure;
use crate::number::Count;
use crate::output::{Block, Format, Grid, Report, fields};
use clap::{Args, ValueEnum};
use serde_json::json;
use shuffledp_service::keys::{Party, make};
use shuffledp_service::server::access::make_token;
use shuffledp_service::tokens::make_issuer;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PartyName {
    /// Opens envelopes, and releases batches
    Shuffler,
    /// Opens the reports of a batch
    Analyzer,
    /// The second of two shufflers: opens what the first hands on
    SecondShuffler,
    /// Signs anonymous tokens: a key for each window
    Issuer,
    /// A token by which a running shuffler knows its analyzer or its operator
    Token,
}

#[derive(Args)]
pub(crate) struct KeysArguments {
    /// Whose keys
    #[arg(value_enum)]
    party: PartyName,
    /// The number of a key of the shuffler, which envelopes name: a new key has a new number
    #[arg(long, value_name = "N", default_value_t = 1)]
    number: u8,
    /// The windows that an issuer has keys for [default: 1]
    #[arg(long, value_name = "N")]
    windows: Option<Count>,
    /// The first of these windows [default: 0]
    #[arg(long, value_name = "W")]
    first_window: Option<Count>,
    /// The folder for the two files
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

impl KeysArguments {
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        if self.party != PartyName::Issuer {
            for (flag, value) in [
                ("--windows", self.windows),
                ("--first-window", self.first_window),
            ] {
                if let Some(value) = value {
                    let message = format!("{flag} {} is for the issuer's keys", value.0);
                    return Err(Failure::flag(flag, message));
                }
            }
        }
        let (party, number) = match self.party {
            PartyName::Shuffler => (Party::Shuffler, self.number),
            PartyName::Analyzer
            | PartyName::SecondShuffler
            | PartyName::Issuer
            | PartyName::Token
                if self.number != 1 =>
            {
                let message = format!("--number {} is for the shuffler's keys", self.number);
                return Err(Failure::flag("--number", message));
            }
            PartyName::Analyzer => (Party::Analyzer, 0),
            PartyName::SecondShuffler => (Party::Second, 0),
            PartyName::Issuer => return self.issuer(),
            PartyName::Token => return self.token(),
        };
        let (secret, public, key) = make(party, number, &self.out)?;
        let mut csv = Grid::new(["party", "secret", "public", "key"]);
        let (secret_name, public_name) =
            (secret.display().to_string(), public.display().to_string());
        csv.row([party.name(), &secret_name, &public_name, &key.to_string()]);
        let query = json!({ "party": party, "out": self.out });
        let json = json!({ "query": query, "secret": secret, "public": public, "key": key });
        Ok(Report {
            blocks: vec![
                Block::Line(format!(
                    "{secret_name}: the secret key. It stays with the {}.",
                    party.name().replace('-', " ")
                )),
                Block::Line(format!("{public_name}: the public key, for everybody.")),
            ],
            json: fields(json),
            csv,
            relation: None,
            after: None,
        })
    }

    fn issuer(&self) -> Result<Report, Failure> {
        let first = self.first_window.map_or(0, |window| window.0);
        let windows = self.windows.map_or(1, |windows| windows.0);
        let (secret, public) = make_issuer(first, windows, &self.out)?;
        let names = [&secret, &public].map(|path| path.display().to_string());
        let query = json!({
            "party": "issuer", "out": self.out, "first_window": first, "windows": windows
        });
        let mut csv = Grid::new(["party", "secret", "public"]);
        csv.row(["issuer", &names[0], &names[1]]);
        let [secret_name, public_name] = names;
        Ok(Report {
            blocks: vec![
                Block::Line(format!(
                    "{secret_name}: the secret keys. They stay with the issuer."
                )),
                Block::Line(format!("{public_name}: the public keys, for the task.")),
            ],
            json: fields(json!({ "query": query, "secret": secret, "public": public })),
            csv,
            relation: None,
            after: None,
        })
    }

    fn token(&self) -> Result<Report, Failure> {
        let (path, hash) = make_token(&self.out)?;
        let name = path.display().to_string();
        let mut csv = Grid::new(["token", "sha256"]);
        csv.row([name.clone(), hash.to_string()]);
        let query = json!({ "party": "token", "out": self.out });
        Ok(Report {
            blocks: vec![
                Block::Line(format!("{name}: the token. It stays with whom it is for.")),
                Block::Line(format!(
                    "{hash}: its SHA-256, for the configuration of the shuffler."
                )),
            ],
            json: fields(json!({ "query": query, "token": path, "sha256": hash })),
            csv,
            relation: None,
            after: None,
        })
    }
}
