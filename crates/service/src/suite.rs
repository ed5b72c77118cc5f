//! HPKE by rustls over AWS-LC: a kept and tested library, and the fastest of those that were measured. And
//! the verification of tokens, by the same.

use aws_lc_rs::signature::{RSA_PSS_2048_8192_SHA384, RsaPublicKeyComponents};
use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305 as SUITE;
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke as _, HpkePrivateKey, HpkePublicKey};
use shuffledp_protocol::hpke::{ENC, Hpke, HpkeError, Sealed, SecretKey};
use shuffledp_protocol::task::Bytes32;
use shuffledp_protocol::token::{Bytes256, EXPONENT, MODULUS, Pss};
use zeroize::Zeroizing;

/// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305; RSASSA-PSS with SHA-384.
#[derive(Clone, Copy, Debug, Default)]
pub struct AwsLc;

impl Hpke for AwsLc {
    fn keys(&self) -> Result<(Bytes32, SecretKey), HpkeError> {
        let failed = HpkeError("made: there are no keys");
        let (public, secret) = SUITE.generate_key_pair().map_err(|_| failed)?;
        let public = <[u8; 32]>::try_from(&public.0[..]).map_err(|_| failed)?;
        let secret = <[u8; 32]>::try_from(secret.secret_bytes()).map_err(|_| failed)?;
        Ok((Bytes32(public), SecretKey::new(Zeroizing::new(secret))))
    }

    fn seal(
        &self,
        to: &Bytes32,
        info: &[u8],
        aad: &[u8],
        text: &[u8],
    ) -> Result<Sealed, HpkeError> {
        let failed = HpkeError("sealed to this key");
        let to = HpkePublicKey(to.0.to_vec());
        let (enc, text) = SUITE.seal(info, aad, text, &to).map_err(|_| failed)?;
        let enc = <[u8; ENC]>::try_from(&enc.0[..]).map_err(|_| failed)?;
        Ok(Sealed { enc, text })
    }

    fn open(
        &self,
        key: &SecretKey,
        enc: &[u8; ENC],
        info: &[u8],
        aad: &[u8],
        text: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, HpkeError> {
        // rustls clears its copy of the key when it is dropped.
        let key = HpkePrivateKey::from(key.bytes().to_vec());
        let enc = EncapsulatedSecret(enc.to_vec());
        let plain = SUITE.open(&enc, info, aad, text, &key);
        plain.map(Zeroizing::new).map_err(|_| HpkeError("opened"))
    }
}

impl Pss for AwsLc {
    fn verifies(&self, modulus: &Bytes256, message: &[u8], signature: &[u8; MODULUS]) -> bool {
        let exponent = EXPONENT.to_be_bytes();
        // Without the zero before it. The library asks for a salt as long as the hash.
        let (n, e) = (&modulus.0[..], &exponent[1..]);
        let key = RsaPublicKeyComponents { n, e };
        let verified = key.verify(&RSA_PSS_2048_8192_SHA384, message, signature);
        verified.is_ok()
    }
}
