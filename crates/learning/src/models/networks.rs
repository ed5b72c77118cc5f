//! The models of the papers, by name.
//!
//! The convolutional network of private learning on MNIST is one table (shuffled-check-in Table 3, after
//! Erlingsson et al. 2020):
//!
//! ```text
//! convolution   16 filters of 8×8, stride 2
//! max-pooling   2×2
//! convolution   32 filters of 4×4, stride 2
//! max-pooling   2×2
//! dense         32
//! softmax       10
//! ```
//!
//! The table says neither how far apart pooling windows are nor what surrounds an image, and the two usual
//! ways to read it are two networks ([`Model::cnn_disjoint`], [`Model::cnn_overlapping`]):
//!
//! | pooling windows | image 28×28 becomes | parameters |
//! |---|---|---|
//! | disjoint | 14×14, 7×7, 4×4, 2×2 = 128 numbers | 1040 + 8224 + 4128 + 330 = 13,722 |
//! | overlapping (stride 1) | 14×14, 13×13, 5×5, 4×4 = 512 numbers | 1040 + 8224 + 16,416 + 330 = 26,010 |
//!
//! Both convolutions of the first are padded to "same", of the second the first convolution only.
//!
//! subsampled-shuffle-rdp cites Erlingsson et al. and Papernot et al. (2020) for its network and gives it d =
//! 13,170 parameters. No reading of the table has that many: with p places before the dense layer it is
//! 1024·p + 9,536 and at most 90 biases, so at most 12,698 for p = 3 and at least 13,632 for p = 4. The
//! network of 13,722, p = 4 with all biases, is the one of about that size that the table describes.
//!
//! An activation follows every pooling. It is rising, so this is the same function as an activation before
//! the pooling, at a fraction of the calls. The table does not name it; Papernot et al. show that tanh learns
//! better from clipped and noised gradients.

use super::activation::Activation;
use super::convolution::{Convolution, Padding};
use super::dense::Dense;
use super::layer::Layer;
use super::model::Model;
use super::pool::MaxPool;
use crate::data::Shape;
use crate::error::Error;

impl Model {
    /// Logistic regression: one dense layer.
    ///
    /// ```
    /// use shuffledp_learning::{Model, Shape};
    /// let shape = Shape { channels: 1, height: 28, width: 28 };
    /// assert_eq!(Model::logistic(shape, 10)?.parameters(), 7_850);
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn logistic(shape: Shape, classes: usize) -> Result<Self, Error> {
        Stack::on(shape, classes)?.scores()
    }

    /// One hidden layer.
    pub fn mlp(
        shape: Shape,
        hidden: usize,
        activation: Activation,
        classes: usize,
    ) -> Result<Self, Error> {
        if !(1..=1 << 16).contains(&hidden) {
            return Err(Error::parameter("hidden", hidden, "[1, 2^16]"));
        }
        let stack = Stack::on(shape, classes)?;
        stack.dense(hidden).activation(activation).scores()
    }

    /// The papers' network with disjoint pooling windows: 13,722 parameters on 28×28 pixels.
    ///
    /// ```
    /// use shuffledp_learning::{Activation, Model, Shape};
    /// let shape = Shape { channels: 1, height: 28, width: 28 };
    /// assert_eq!(Model::cnn_disjoint(shape, Activation::Tanh, 10)?.parameters(), 13_722);
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn cnn_disjoint(
        shape: Shape,
        activation: Activation,
        classes: usize,
    ) -> Result<Self, Error> {
        Stack::on(shape, classes)?
            .convolution(16, 8, 2, Padding::Same)?
            .max_pool(2, 2)?
            .activation(activation)
            .convolution(32, 4, 2, Padding::Same)?
            .max_pool(2, 2)?
            .activation(activation)
            .dense(32)
            .activation(activation)
            .scores()
    }

    /// The papers' network with overlapping pooling windows, as in the code of TensorFlow Privacy and Opacus:
    /// 26,010 parameters on 28×28 pixels.
    ///
    /// ```
    /// use shuffledp_learning::{Activation, Model, Shape};
    /// let shape = Shape { channels: 1, height: 28, width: 28 };
    /// assert_eq!(Model::cnn_overlapping(shape, Activation::Tanh, 10)?.parameters(), 26_010);
    /// # Ok::<(), shuffledp_learning::Error>(())
    /// ```
    pub fn cnn_overlapping(
        shape: Shape,
        activation: Activation,
        classes: usize,
    ) -> Result<Self, Error> {
        Stack::on(shape, classes)?
            .convolution(16, 8, 2, Padding::Same)?
            .max_pool(2, 1)?
            .activation(activation)
            .convolution(32, 4, 2, Padding::Valid)?
            .max_pool(2, 1)?
            .activation(activation)
            .dense(32)
            .activation(activation)
            .scores()
    }
}

/// Layers that were stacked so far, and the shape on top.
pub(crate) struct Stack {
    image: Shape,
    classes: usize,
    top: Shape,
    layers: Vec<Layer>,
}

impl Stack {
    /// Nothing yet.
    pub(crate) fn on(image: Shape, classes: usize) -> Result<Self, Error> {
        image.check(classes)?;
        Ok(Self {
            image,
            classes,
            top: image,
            layers: Vec::new(),
        })
    }

    pub(crate) fn dense(mut self, outputs: usize) -> Self {
        self.layers.push(Layer::Dense(Dense {
            inputs: self.top.numbers(),
            outputs,
        }));
        self.top = Shape {
            channels: outputs,
            height: 1,
            width: 1,
        };
        self
    }

    pub(crate) fn convolution(
        mut self,
        filters: usize,
        side: usize,
        stride: usize,
        padding: Padding,
    ) -> Result<Self, Error> {
        let layer = Convolution::new(self.top, filters, side, stride, padding)?;
        self.top = layer.output();
        self.layers.push(Layer::Convolution(layer));
        Ok(self)
    }

    pub(crate) fn max_pool(mut self, side: usize, stride: usize) -> Result<Self, Error> {
        let layer = MaxPool::new(self.top, side, stride)?;
        self.top = layer.output();
        self.layers.push(Layer::MaxPool(layer));
        Ok(self)
    }

    pub(crate) fn activation(mut self, activation: Activation) -> Self {
        self.layers
            .push(Layer::Activation(activation, self.top.numbers()));
        self
    }

    /// The last layer, a score for each class, and then the model, if its parameters can be held.
    pub(crate) fn scores(self) -> Result<Model, Error> {
        let classes = self.classes;
        let stack = self.dense(classes);
        let model = Model::of(stack.image, stack.layers);
        if model.parameters() > 1 << 30 {
            return Err(Error::parameter(
                "parameters",
                model.parameters(),
                "[1, 2^30]",
            ));
        }
        Ok(model)
    }
}
