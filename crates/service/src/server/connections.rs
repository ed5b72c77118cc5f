//! How many connections there are at a time: one more is closed at once. A connection costs a file and some
//! memory before it has said anything, and a shuffler that has no files left cannot write.
//!
//! Who asks and does not read what is answered holds a connection and the answer. Where so much waits that
//! the operating system takes no more of it, [`LEAST`] bytes have to leave in the time that a request has to
//! arrive; else the connection is closed.

use axum_server::accept::Accept;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// What a connection reads at least while something waits for it, in the patience of the server: 2 kB a
/// second by default, which is less than any network of today.
const LEAST: usize = 1 << 16;

/// Accepts as `inner` does, so many at a time.
#[derive(Clone)]
pub(super) struct Limited<A> {
    inner: A,
    free: Arc<Semaphore>,
    patience: Duration,
}

impl<A> Limited<A> {
    pub(super) fn new(inner: A, most: usize, patience: Duration) -> Self {
        let free = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self {
            inner,
            free,
            patience,
        }
    }
}

/// A connection, and its place among those that there may be.
pub(super) struct Held<S> {
    stream: S,
    patience: Duration,
    /// While something waits to be sent: when the patience ends, and how much has left meanwhile.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
    _place: OwnedSemaphorePermit,
}

impl<S> Held<S> {
    /// What a call to send has come to, with the end of the patience in view.
    fn watched<T>(
        &mut self,
        cx: &mut Context<'_>,
        sent: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            return sent;
        }
        let patience = self.patience;
        let begin = || (Box::pin(sleep(patience)), 0);
        let (end, _) = self.waiting.get_or_insert_with(begin);
        ready!(end.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// So much has left. Until it is enough, a byte now and then is no reading.
    fn written(&mut self, written: &Poll<io::Result<usize>>) {
        if let (Poll::Ready(Ok(bytes)), Some((_, left))) = (written, &mut self.waiting) {
            *left += bytes;
            if *left >= LEAST {
                self.waiting = None;
            }
        }
    }
}

type Accepted<S, T> = Pin<Box<dyn Future<Output = io::Result<(Held<S>, T)>> + Send>>;

impl<I, T, A> Accept<I, T> for Limited<A>
where
    A: Accept<I, T>,
    A::Future: Send + 'static,
{
    type Stream = Held<A::Stream>;
    type Service = A::Service;
    type Future = Accepted<A::Stream, A::Service>;

    fn accept(&self, stream: I, service: T) -> Self::Future {
        let Ok(place) = Arc::clone(&self.free).try_acquire_owned() else {
            return Box::pin(async { Err(io::Error::other("there are too many connections")) });
        };
        let accepted = self.inner.accept(stream, service);
        let patience = self.patience;
        Box::pin(async move {
            let (stream, service) = accepted.await?;
            let held = Held {
                stream,
                patience,
                waiting: None,
                _place: place,
            };
            Ok((held, service))
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Held<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Held<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(&written);
        self.watched(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.written(&written);
        self.watched(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            // Nothing waits any more.
            self.waiting = None;
        }
        self.watched(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watched(cx, shut)
    }
}
