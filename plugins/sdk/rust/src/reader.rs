use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use crate::abi;
use crate::error::HostError;
use crate::host::{call_into, Host};
use crate::json::is_blob_name;

/// Reads an input that may be larger than the guest's memory in pieces: params, a checkpoint, or a blob. Every read asks the host, which
/// copies straight into the given slice: read some KiB at once, or through a [`BufReader`](std::io::BufReader).
pub struct Reader {
    host: Rc<dyn Host>,
    from: Source,
    size: u64,
    at: u64,
}

enum Source {
    Channel(i32),
    Blob(String),
}

impl Reader {
    pub(crate) fn channel(host: &Rc<dyn Host>, channel: i32) -> Option<Reader> {
        let size = u64::try_from(host.len(channel)).ok()?;
        Some(Reader { host: host.clone(), from: Source::Channel(channel), size, at: 0 })
    }

    pub(crate) fn empty(host: &Rc<dyn Host>) -> Reader {
        Reader { host: host.clone(), from: Source::Channel(abi::PARAMS), size: 0, at: 0 }
    }

    pub(crate) fn blob(host: &Rc<dyn Host>, name: &str) -> Result<Reader, HostError> {
        if !is_blob_name(name) {
            return Err(HostError::Invalid);
        }
        let mut size = [0; 8];
        if call_into(&**host, abi::OP_BLOB_SIZE, name.as_bytes(), &mut size)? != size.len() {
            return Err(HostError::Invalid);
        }
        Ok(Reader { host: host.clone(), from: Source::Blob(name.to_string()), size: u64::from_le_bytes(size), at: 0 })
    }

    /// The length of the whole input, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads from byte `offset` on. It reads fewer bytes than asked for only at the end, and 0 there and behind it. The place of `read` stays.
    pub fn read_at(&self, to: &mut [u8], offset: u64) -> Result<usize, HostError> {
        let room = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let most = to.len().min(room);
        let mut n = 0;
        while n < most {
            match self.piece(&mut to[n..most], offset + n as u64)? {
                0 => return Err(HostError::Invalid), // it announced more
                got => n += got,
            }
        }
        Ok(n)
    }

    /// One request.
    fn piece(&self, to: &mut [u8], offset: u64) -> Result<usize, HostError> {
        match &self.from {
            Source::Channel(channel) => {
                let offset = u32::try_from(offset).map_err(|_| HostError::Invalid)?;
                HostError::check(self.host.read(*channel, offset, to))
            }
            Source::Blob(name) => {
                let n = to.len().min(abi::MAX_RESPONSE);
                let mut request = name.as_bytes().to_vec();
                request.extend_from_slice(&offset.to_le_bytes());
                request.extend_from_slice(&(n as u32).to_le_bytes());
                call_into(&*self.host, abi::OP_BLOB_READ, &request, &mut to[..n])
            }
        }
    }
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.read_at(to, self.at).map_err(|e| io::Error::new(io::ErrorKind::Other, e))?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => plus(self.size, by),
            SeekFrom::Current(by) => plus(self.at, by),
        };
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before the start"))?;
        Ok(self.at)
    }
}

fn plus(n: u64, by: i64) -> Option<u64> {
    if by < 0 {
        n.checked_sub(by.unsigned_abs())
    } else {
        n.checked_add(by as u64)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("size", &self.size).field("at", &self.at).finish_non_exhaustive()
    }
}
