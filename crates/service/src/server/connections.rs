//! How many connections there are at a time: one more is closed at once. A connection costs a file and some
//! memory before it has said anything, and a shuffler that has no files left cannot write.

use axum_server::accept::Accept;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Accepts as `inner` does, so many at a time.
#[derive(Clone)]
pub(super) struct Limited<A> {
    inner: A,
    free: Arc<Semaphore>,
}

impl<A> Limited<A> {
    pub(super) fn new(inner: A, most: usize) -> Self {
        let free = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { inner, free }
    }
}

/// A connection, and its place among those that there may be.
pub(super) struct Held<S> {
    stream: S,
    _place: OwnedSemaphorePermit,
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
        Box::pin(async move {
            let (stream, service) = accepted.await?;
            let held = Held {
                stream,
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
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
