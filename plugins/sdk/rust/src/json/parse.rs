use std::collections::BTreeMap;

use super::{Error, Value};

/// How deep arrays and objects may nest: more than a cluster takes in params, and little enough for the stack of a guest.
pub const MAX_DEPTH: usize = 512;

impl Value {
    /// Reads one JSON text, with nothing but space around it. Of members with the same name the last one counts. A `\u` escape of
    /// half a surrogate pair becomes U+FFFD.
    pub fn parse(text: &[u8]) -> Result<Value, Error> {
        let mut p = Parser::new(text)?;
        let v = p.value(0)?;
        p.end()?;
        Ok(v)
    }
}

/// The members of an object, each value as the text that it is written as.
pub(crate) fn members(text: &[u8]) -> Result<Vec<(String, &[u8])>, Error> {
    let mut p = Parser::new(text)?;
    let mut all = Vec::new();
    if p.peek() != Some(b'{') {
        return Err(Error::shape("must be an object"));
    }
    p.each_member(|p, name| {
        let raw = p.raw(1)?;
        all.push((name, raw));
        Ok(())
    })?;
    p.end()?;
    Ok(all)
}

/// The elements of an array, as the texts that they are written as.
pub(crate) fn elements(text: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut p = Parser::new(text)?;
    let mut all = Vec::new();
    if p.peek() != Some(b'[') {
        return Err(Error::shape("must be an array"));
    }
    p.each_element(|p| {
        let raw = p.raw(1)?;
        all.push(raw);
        Ok(())
    })?;
    p.end()?;
    Ok(all)
}

struct Parser<'a> {
    text: &'a str,
    at: usize, // in bytes, and at the start of a character
}

impl<'a> Parser<'a> {
    /// Begins at the first character that is no space.
    fn new(text: &'a [u8]) -> Result<Parser<'a>, Error> {
        match std::str::from_utf8(text) {
            Ok(valid) => {
                let mut p = Parser { text: valid, at: 0 };
                p.space();
                Ok(p)
            }
            Err(e) => Err(Error::syntax(text, e.valid_up_to(), "invalid UTF-8")),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fail("text after the value")),
        }
    }

    fn fail(&self, what: &str) -> Error {
        self.fail_at(self.at, what)
    }

    fn fail_at(&self, at: usize, what: &str) -> Error {
        let what = if at == self.text.len() { "unexpected end" } else { what };
        Error::syntax(self.text.as_bytes(), at, what)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(self.fail("nested too deep")),
            Some(b'{') => {
                let mut members = BTreeMap::new();
                self.each_member(|p, name| {
                    let v = p.value(depth + 1)?;
                    members.insert(name, v);
                    Ok(())
                })?;
                Ok(Value::Object(members))
            }
            Some(b'[') => {
                let mut all = Vec::new();
                self.each_element(|p| {
                    let v = p.value(depth + 1)?;
                    all.push(v);
                    Ok(())
                })?;
                Ok(Value::Array(all))
            }
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.fail("unexpected character")),
        }
    }

    /// The text of a value.
    fn raw(&mut self, depth: usize) -> Result<&'a [u8], Error> {
        let from = self.at;
        self.value(depth)?;
        Ok(&self.text.as_bytes()[from..self.at])
    }

    fn word(&mut self, word: &str, v: Value) -> Result<Value, Error> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.fail("unexpected character"));
            }
            self.at += 1;
        }
        Ok(v)
    }

    fn each_member(&mut self, mut found: impl FnMut(&mut Parser<'a>, String) -> Result<(), Error>) -> Result<(), Error> {
        if self.open(b'}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fail("a member's name is missing"));
            }
            let name = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.fail("':' is missing"));
            }
            self.at += 1;
            self.space();
            found(self, name)?;
            if self.close(b'}', "',' or '}' is missing")? {
                return Ok(());
            }
        }
    }

    fn each_element(&mut self, mut found: impl FnMut(&mut Parser<'a>) -> Result<(), Error>) -> Result<(), Error> {
        if self.open(b']') {
            return Ok(());
        }
        loop {
            found(self)?;
            if self.close(b']', "',' or ']' is missing")? {
                return Ok(());
            }
        }
    }

    /// Takes the opening bracket, and the closing one if it follows.
    fn open(&mut self, end: u8) -> bool {
        self.at += 1;
        self.space();
        let empty = self.peek() == Some(end);
        if empty {
            self.at += 1;
        }
        empty
    }

    /// Takes the closing bracket (true) or a comma.
    fn close(&mut self, end: u8, what: &str) -> Result<bool, Error> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space();
                Ok(false)
            }
            Some(b) if b == end => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.fail(what)),
        }
    }

    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let from = self.at;
            while let Some(b) = self.peek() {
                if b == b'"' || b == b'\\' || b < 0x20 {
                    break;
                }
                self.at += 1;
            }
            out.push_str(&self.text[from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.fail("a control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        self.at += 1;
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.fail("unknown escape")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Reads what follows `\u`, and the second half of a pair.
    fn unicode(&mut self) -> Result<char, Error> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let behind = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let c = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = behind; // a character of its own
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let mut n = 0;
        for _ in 0..4 {
            match self.peek().and_then(|b| (b as char).to_digit(16)) {
                Some(digit) => n = n << 4 | digit,
                None => return Err(self.fail("\\u needs four hexadecimal digits")),
            }
            self.at += 1;
        }
        Ok(n)
    }

    fn number(&mut self) -> Result<Value, Error> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.text.as_bytes()[first] == b'0' {
            return Err(self.fail_at(first + 1, "a number begins with 0"));
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[from..self.at];
        if integer && text != "-0" {
            if let Ok(n) = text.parse() {
                return Ok(Value::Int(n));
            }
        }
        match text.parse::<f64>() {
            Ok(n) if n.is_finite() => Ok(Value::Float(n)),
            _ => Err(self.fail_at(from, "a number out of range")),
        }
    }

    /// Takes at least one digit.
    fn digits(&mut self) -> Result<usize, Error> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from {
            return Err(self.fail("a digit is missing"));
        }
        Ok(self.at - from)
    }
}
