//! `shuffledp keys`: the keys of the shuffler, of the analyzer and of an issuer; tokens and master keys of a
//! running shuffler.

use crate::failure::Failure;
use crate::number::Count;
use crate::output::{Block, Format, Grid, Report, fields};
use clap::{Args, ValueEnum};
use serde_json::json;
use shuffledp_service::keys::{Party, make};
use shuffledp_service::server::access::make_token;
use shuffledp_service::store::vault;
use shuffledp_service::tokens::make_issuer;
use std::path::{Path, PathBuf};

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
    /// The key with which a running shuffler encrypts what it stores
    Master,
}

#[derive(Args)]
pub(crate) struct KeysArguments {
    /// Whose keys
    #[arg(value_enum)]
    party: PartyName,
    /// The number of a key of the shuffler, which envelopes name, or of a master key: a new key has a new
    /// number, and of master keys the largest one encrypts [default: 1]
    #[arg(long, value_name = "N")]
    number: Option<u32>,
    /// The windows that an issuer has keys for [default: 1]
    #[arg(long, value_name = "N")]
    windows: Option<Count>,
    /// The first of these windows [default: 0]
    #[arg(long, value_name = "W")]
    first_window: Option<Count>,
    /// The folder for the files [default: .]; the file of a master key, which must not be there yet
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
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
        let out = self.out.as_deref().unwrap_or(Path::new("."));
        let number = self.number.unwrap_or(1);
        let (party, number) = match (self.party, self.number) {
            (PartyName::Shuffler, _) => {
                let small = u8::try_from(number);
                let allowed = |_| Failure::value("--number", number, "in [0, 255]");
                (Party::Shuffler, small.map_err(allowed)?)
            }
            (PartyName::Master, _) => return self.master(number),
            (_, Some(number)) => {
                let message =
                    format!("--number {number} is for the shuffler's keys and for master keys");
                return Err(Failure::flag("--number", message));
            }
            (PartyName::Analyzer, None) => (Party::Analyzer, 0),
            (PartyName::SecondShuffler, None) => (Party::Second, 0),
            (PartyName::Issuer, None) => return self.issuer(out),
            (PartyName::Token, None) => return token(out),
        };
        let (secret, public, key) = make(party, number, out)?;
        let mut csv = Grid::new(["party", "secret", "public", "key"]);
        let (secret_name, public_name) =
            (secret.display().to_string(), public.display().to_string());
        csv.row([party.name(), &secret_name, &public_name, &key.to_string()]);
        let query = json!({ "party": party, "out": out });
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

    fn issuer(&self, out: &Path) -> Result<Report, Failure> {
        let first = self.first_window.map_or(0, |window| window.0);
        let windows = self.windows.map_or(1, |windows| windows.0);
        let (secret, public) = make_issuer(first, windows, out)?;
        let names = [&secret, &public].map(|path| path.display().to_string());
        let query = json!({
            "party": "issuer", "out": out, "first_window": first, "windows": windows
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

    fn master(&self, number: u32) -> Result<Report, Failure> {
        let message = "--out, the file of the master key, is needed";
        let out = self.out.as_deref();
        let path = out.ok_or_else(|| Failure::flag("--out", message))?;
        vault::make(path, number)?;
        let name = path.display().to_string();
        let mut csv = Grid::new(["master", "number"]);
        csv.row([name.clone(), number.to_string()]);
        let query = json!({ "party": "master", "number": number, "out": path });
        Ok(Report {
            blocks: vec![
                Block::Line(format!(
                    "{name}: master key {number}, for store.master_key of the configuration."
                )),
                Block::Line(
                    "Whoever has it and a copy of the store reads what the store holds: keep backups of the \
                     two apart."
                        .to_owned(),
                ),
            ],
            json: fields(json!({ "query": query, "master": path })),
            csv,
            relation: None,
            after: None,
        })
    }
}

fn token(out: &Path) -> Result<Report, Failure> {
    let (path, hash) = make_token(out)?;
    let name = path.display().to_string();
    let mut csv = Grid::new(["token", "sha256"]);
    csv.row([name.clone(), hash.to_string()]);
    let query = json!({ "party": "token", "out": out });
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
