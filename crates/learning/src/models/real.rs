//! The numbers a model computes with: f32 to train with, f64 to check the gradients with.

mod sealed {
    /// The arithmetic that the matrix products need.
    #[expect(
        unnameable_types,
        reason = "sealed: no other crate may implement `Real`"
    )]
    pub trait Sealed: ndarray::LinalgScalar + std::ops::AddAssign {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64.
pub trait Real: sealed::Sealed + Default + Send + Sync + PartialOrd + Into<f64> {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// eˣ.
    fn exp(self) -> Self;

    /// ln x.
    fn ln(self) -> Self;

    /// tanh x.
    fn tanh(self) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn exp(self) -> Self {
                self.exp()
            }

            fn ln(self) -> Self {
                self.ln()
            }

            fn tanh(self) -> Self {
                self.tanh()
            }
        }
    };
}

real!(f32);
real!(f64);
