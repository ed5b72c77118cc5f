//! RSA blind signatures (RFC 9474, RSABSSA-SHA384-PSS-Randomized): what a device and an issuer do. The only
//! file that names the library of it. Keys are made by AWS-LC, and signatures are verified by it as well.
//!
//! Signing draws a number for each call that the message is multiplied with (base blinding), so that its time
//! does not follow the message.

use crate::suite::AwsLc;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use blind_rsa_signatures::{
    BlindSignature, BlindingResult, DefaultRng, MessageRandomizer, PublicKeySha384PSSRandomized,
    Secret, SecretKeySha384PSSRandomized,
};
use rsa::{BoxedUint, RsaPublicKey};
use shuffledp_protocol::token::{Bytes256, EXPONENT, MODULUS, NONCE, Pss};
use zeroize::Zeroizing;

/// What failed. It does not say why: the keys, the message or the randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BlindError(pub(crate) &'static str);

/// What a device keeps between its request and the answer.
pub(crate) struct Blinded {
    /// For the issuer.
    pub(crate) message: Bytes256,
    /// The number that is signed together with the message.
    pub(crate) nonce: [u8; NONCE],
    /// What takes the blinding off again.
    pub(crate) secret: Zeroizing<[u8; MODULUS]>,
}

fn bytes(slice: &[u8], failed: BlindError) -> Result<[u8; MODULUS], BlindError> {
    slice.try_into().map_err(|_| failed)
}

/// A new key: its private half as PKCS #8, and its modulus.
pub(crate) fn generate() -> Result<(Zeroizing<Vec<u8>>, Bytes256), BlindError> {
    let failed = BlindError("a key of an issuer cannot be made");
    let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| failed)?;
    let private: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| failed)?;
    let private = Zeroizing::new(private.as_ref().to_vec());
    let key = SecretKeySha384PSSRandomized::from_der(&private).map_err(|_| failed)?;
    let modulus = bytes(&key.components().n(), failed)?;
    Ok((private, Bytes256(modulus)))
}

fn public(modulus: &Bytes256) -> Result<PublicKeySha384PSSRandomized, BlindError> {
    let key = RsaPublicKey::new(
        BoxedUint::from_be_slice_vartime(&modulus.0),
        BoxedUint::from(EXPONENT),
    );
    let key = key.map_err(|_| BlindError("the issuer's key is none"))?;
    Ok(PublicKeySha384PSSRandomized::new(key))
}

/// Blinds a message that is to be signed by the key of this modulus.
pub(crate) fn blind(modulus: &Bytes256, message: &[u8]) -> Result<Blinded, BlindError> {
    let failed = BlindError("the message cannot be blinded");
    let blinded = public(modulus)?.blind(&mut DefaultRng, message);
    let blinded = blinded.map_err(|_| failed)?;
    Ok(Blinded {
        message: Bytes256(bytes(&blinded.blind_message.0, failed)?),
        nonce: blinded.msg_randomizer.ok_or(failed)?.0,
        secret: Zeroizing::new(bytes(&Zeroizing::new(blinded.secret.0), failed)?),
    })
}

/// Signs what was blinded, with the key of this PKCS #8 text. The same message has the same answer.
pub(crate) fn sign(private: &[u8], message: &Bytes256) -> Result<Bytes256, BlindError> {
    let failed = BlindError("the message is none that can be signed");
    let key = SecretKeySha384PSSRandomized::from_der(private);
    let key = key.map_err(|_| BlindError("the issuer's key is none"))?;
    let signature = key.blind_sign(message.0).map_err(|_| failed)?;
    Ok(Bytes256(bytes(&signature.0, failed)?))
}

/// Takes the blinding off a signature, which must be one of the message.
pub(crate) fn unblind(
    modulus: &Bytes256,
    message: &[u8],
    (nonce, secret): (&[u8; NONCE], &[u8; MODULUS]),
    answer: &Bytes256,
) -> Result<Bytes256, BlindError> {
    let failed = BlindError("the answer is not the issuer's signature of this request");
    let blinded = BlindingResult {
        blind_message: blind_rsa_signatures::BlindMessage(Vec::new()),
        secret: Secret(secret.to_vec()),
        msg_randomizer: Some(MessageRandomizer(*nonce)),
    };
    let answer = BlindSignature(answer.0.to_vec());
    let signature = public(modulus)?.finalize(&answer, &blinded, message);
    let signature = bytes(&signature.map_err(|_| failed)?.0, failed)?;
    // The library that the shuffler has is asked as well.
    let signed = [nonce, message].concat();
    match AwsLc.verifies(modulus, &signed, &signature) {
        true => Ok(Bytes256(signature)),
        false => Err(failed),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{blind, generate, sign, unblind};
    use crate::suite::AwsLc;
    use shuffledp_protocol::token::{Bytes256, Pss};

    #[test]
    fn a_signature_is_unblinded_and_another_library_verifies_it() {
        let (private, modulus) = generate().unwrap();
        let blinded = blind(&modulus, b"message").unwrap();
        let again = blind(&modulus, b"message").unwrap();
        assert!(blinded.message != again.message && blinded.nonce != again.nonce);
        let answer = sign(&private, &blinded.message).unwrap();
        assert_eq!(sign(&private, &blinded.message).unwrap(), answer);
        let kept = (&blinded.nonce, &*blinded.secret);
        let signature = unblind(&modulus, b"message", kept, &answer).unwrap();
        let signed = |nonce: &[u8], message: &[u8]| [nonce, message].concat();
        let verifies = |modulus: &Bytes256, signed: &[u8], signature: &Bytes256| {
            AwsLc.verifies(modulus, signed, &signature.0)
        };
        let good = signed(&blinded.nonce, b"message");
        assert!(verifies(&modulus, &good, &signature));
        assert!(!verifies(
            &modulus,
            &signed(&blinded.nonce, b"other"),
            &signature
        ));
        assert!(!verifies(
            &modulus,
            &signed(&again.nonce, b"message"),
            &signature
        ));
        assert!(!verifies(&modulus, &good, &answer));
        let (other_private, other) = generate().unwrap();
        assert!(!verifies(&other, &good, &signature));
        // An issuer who answers with anything else is found out by the device.
        for answer in [
            Bytes256([0; 256]),
            Bytes256([255; 256]),
            blinded.message,
            sign(&other_private, &Bytes256([1; 256])).unwrap(),
        ] {
            assert!(unblind(&modulus, b"message", kept, &answer).is_err());
        }
        let too_large = Bytes256([255; 256]);
        assert!(sign(&private, &too_large).is_err());
    }

    #[test]
    fn nothing_is_a_modulus_that_is_none() {
        for modulus in [[0; 256], [2; 256]] {
            assert!(blind(&Bytes256(modulus), b"message").is_err());
            assert!(!AwsLc.verifies(&Bytes256(modulus), b"message", &[1; 256]));
        }
    }
}
