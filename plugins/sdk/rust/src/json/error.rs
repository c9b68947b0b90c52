use std::fmt;

/// Why a text is no JSON, or why JSON is not what a type takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    what: String,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Text { offset: usize, line: usize, column: usize },
    Path(String),
}

impl Error {
    /// JSON that is not what a type takes: `must be a color, not "x"`. [`Error::inside`] says where.
    pub fn shape(what: impl Into<String>) -> Error {
        Error { what: what.into(), place: Place::Path(String::new()) }
    }

    /// Of a value in a member of an object: puts the member's name before where it is.
    #[must_use]
    pub fn inside(self, member: &str) -> Error {
        self.under(|path| match path.as_bytes().first() {
            None | Some(b'[') => format!("{member}{path}"),
            _ => format!("{member}.{path}"),
        })
    }

    /// Of a value in an array.
    #[must_use]
    pub fn at_index(self, index: usize) -> Error {
        self.under(|path| match path.as_bytes().first() {
            None | Some(b'[') => format!("[{index}]{path}"),
            _ => format!("[{index}].{path}"),
        })
    }

    fn under(mut self, how: impl FnOnce(&str) -> String) -> Error {
        if let Place::Path(path) = &mut self.place {
            *path = how(path);
        }
        self
    }

    /// An error in the text. Columns count characters.
    pub(super) fn syntax(text: &[u8], offset: usize, what: &str) -> Error {
        let before = &text[..offset];
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let column = 1 + before[start..].iter().filter(|b| **b & 0xc0 != 0x80).count();
        Error { what: what.to_string(), place: Place::Text { offset, line, column } }
    }

    /// Where a text stops being JSON, in bytes; `None` if it is JSON of another shape.
    pub fn offset(&self) -> Option<usize> {
        match self.place {
            Place::Text { offset, .. } => Some(offset),
            Place::Path(_) => None,
        }
    }

    /// Where the value is that has another shape, as `rows[3].name`; "" for the whole, and for what is no JSON.
    pub fn path(&self) -> &str {
        match &self.place {
            Place::Text { .. } => "",
            Place::Path(path) => path,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Text { offset, line, column } => {
                write!(f, "JSON: {} at byte {} (line {}, column {})", self.what, offset, line, column)
            }
            Place::Path(path) if path.is_empty() => write!(f, "JSON: {}", self.what),
            Place::Path(path) => write!(f, "JSON: {}: {}", path, self.what),
        }
    }
}

impl std::error::Error for Error {}
