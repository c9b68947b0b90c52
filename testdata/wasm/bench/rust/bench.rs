//! The workloads of runtime/meter's benchmark in Rust, with std's collections and allocator. Each export takes a number
//! of rounds and returns a checksum that the same export of the C and of the Go module gives, too.

const SEED: u64 = 0x9e3779b97f4a7c15;
const FNV_OFFSET: u64 = 0xcbf29ce484222325;
const FNV_PRIME: u64 = 0x100000001b3;

fn xorshift(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    x
}

fn fill(p: &mut [u8]) {
    let mut x = SEED;
    for b in p {
        x = xorshift(x);
        *b = x as u8;
    }
}

fn fnv(sum: u64, x: u64) -> u64 {
    (sum ^ x).wrapping_mul(FNV_PRIME)
}

// sha256

#[rustfmt::skip]
static SHA_K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

fn sha_block(h: &mut [u32; 8], block: &[u8]) {
    let mut w = [0u32; 64];
    for (i, p) in block.chunks_exact(4).enumerate() {
        w[i] = u32::from_be_bytes([p[0], p[1], p[2], p[3]]);
    }
    for i in 16..64 {
        let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ w[i - 15] >> 3;
        let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut z] = *h;
    for i in 0..64 {
        let t1 = z
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(SHA_K[i])
            .wrapping_add(w[i]);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        z = g;
        g = f;
        f = e;
        e = d.wrapping_add(t1);
        d = c;
        c = b;
        b = a;
        a = t1.wrapping_add(t2);
    }
    for (old, new) in h.iter_mut().zip([a, b, c, d, e, f, g, z]) {
        *old = old.wrapping_add(new);
    }
}

#[no_mangle]
pub extern "C" fn sha256(rounds: i32) -> i64 {
    let mut text = [0u8; 1024 + 64]; // the padding of 1 KiB is a block of its own
    fill(&mut text[..1024]);
    text[1024] = 0x80;
    text[1024 + 62] = 0x20; // 8192 bits
    let mut sum = 0;
    for _ in 0..rounds {
        let mut h: [u32; 8] = [
            0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
        ];
        for block in text.chunks_exact(64) {
            sha_block(&mut h, block);
        }
        for (to, word) in text.chunks_exact_mut(4).zip(h) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        sum = (h[0] as u64) << 32 | h[1] as u64;
    }
    sum as i64
}

// crc32 (IEEE, by bytes)

#[no_mangle]
pub extern "C" fn crc32(rounds: i32) -> i64 {
    let mut table = [0u32; 256];
    for (i, entry) in table.iter_mut().enumerate() {
        let mut c = i as u32;
        for _ in 0..8 {
            c = if c & 1 != 0 { c >> 1 ^ 0xedb88320 } else { c >> 1 };
        }
        *entry = c;
    }
    let mut text = vec![0u8; 4096];
    fill(&mut text);
    let mut crc = 0u32;
    for _ in 0..rounds {
        crc = !0;
        for &b in &text {
            crc = table[(crc as u8 ^ b) as usize] ^ crc >> 8;
        }
        crc = !crc;
        text[..4].copy_from_slice(&crc.to_le_bytes());
    }
    crc as i64
}

// json: a tree is built, encoded, decoded and encoded again.

enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Text(Vec<u8>),
    Array(Vec<Value>),
    Object(Vec<(Vec<u8>, Value)>),
}

fn text(s: &str) -> Value {
    Value::Text(s.as_bytes().to_vec())
}

fn member(name: &str, v: Value) -> (Vec<u8>, Value) {
    (name.as_bytes().to_vec(), v)
}

fn document(round: i64) -> Value {
    let items = (0..8).map(|i| {
        Value::Object(vec![
            member("sku", text("A-100/7")),
            member("quantity", Value::Int(i * 3)),
            member("price", Value::Int((round + i) * -199)),
        ])
    });
    Value::Object(vec![
        member("id", Value::Int(round)),
        member("name", text("nightly \"import\"\n\tof C:\\data")),
        member("ok", Value::Bool(round % 2 == 0)),
        member("none", Value::Null),
        member("tags", Value::Array(vec![text("alpha"), text("beta"), text("gamma")])),
        member("items", Value::Array(items.collect())),
    ])
}

fn put_int(out: &mut Vec<u8>, n: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = n.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

fn put_string(out: &mut Vec<u8>, s: &[u8]) {
    out.push(b'"');
    for &c in s {
        match c {
            b'"' | b'\\' => {
                out.push(b'\\');
                out.push(c);
            }
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.push(c),
        }
    }
    out.push(b'"');
}

fn encode(out: &mut Vec<u8>, v: &Value) {
    match v {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(n) => put_int(out, *n),
        Value::Text(s) => put_string(out, s),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                encode(out, item);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (i, (name, item)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                put_string(out, name);
                out.push(b':');
                encode(out, item);
            }
            out.push(b'}');
        }
    }
}

struct Input<'a> {
    text: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn peek(&self) -> u8 {
        self.text[self.at]
    }

    fn next(&mut self) -> u8 {
        self.at += 1;
        self.text[self.at - 1]
    }

    fn expect(&mut self, s: &[u8]) {
        for &c in s {
            assert!(self.next() == c);
        }
    }

    fn string(&mut self) -> Vec<u8> {
        self.expect(b"\"");
        let mut s = Vec::new();
        loop {
            s.push(match self.next() {
                b'"' => return s,
                b'\\' => match self.next() {
                    b'n' => b'\n',
                    b't' => b'\t',
                    c => c,
                },
                c => c,
            });
        }
    }

    fn int(&mut self) -> i64 {
        let negative = self.peek() == b'-';
        if negative {
            self.at += 1;
        }
        let mut n = 0i64;
        while self.at < self.text.len() && self.text[self.at].is_ascii_digit() {
            n = n.wrapping_mul(10).wrapping_add((self.next() - b'0') as i64);
        }
        if negative {
            n.wrapping_neg()
        } else {
            n
        }
    }

    fn array(&mut self) -> Value {
        self.expect(b"[");
        let mut items = Vec::new();
        while self.peek() != b']' {
            if !items.is_empty() {
                self.expect(b",");
            }
            items.push(self.decode());
        }
        self.at += 1;
        Value::Array(items)
    }

    fn object(&mut self) -> Value {
        self.expect(b"{");
        let mut members = Vec::new();
        while self.peek() != b'}' {
            if !members.is_empty() {
                self.expect(b",");
            }
            let name = self.string();
            self.expect(b":");
            members.push((name, self.decode()));
        }
        self.at += 1;
        Value::Object(members)
    }

    fn decode(&mut self) -> Value {
        match self.peek() {
            b'n' => {
                self.expect(b"null");
                Value::Null
            }
            b't' => {
                self.expect(b"true");
                Value::Bool(true)
            }
            b'f' => {
                self.expect(b"false");
                Value::Bool(false)
            }
            b'"' => Value::Text(self.string()),
            b'[' => self.array(),
            b'{' => self.object(),
            _ => Value::Int(self.int()),
        }
    }
}

#[no_mangle]
pub extern "C" fn json(rounds: i32) -> i64 {
    let mut sum = FNV_OFFSET;
    for r in 0..rounds {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        encode(&mut once, &document(r as i64));
        encode(&mut twice, &Input { text: &once, at: 0 }.decode());
        for b in twice {
            sum = fnv(sum, b as u64);
        }
    }
    sum as i64
}

// sort: quicksort with insertion sort of short runs

fn quicksort(mut a: &mut [u32]) {
    while a.len() > 13 {
        let pivot = a[(a.len() - 1) / 2];
        let (mut i, mut j) = (0, a.len() - 1);
        loop {
            while a[i] < pivot {
                i += 1;
            }
            while a[j] > pivot {
                j -= 1;
            }
            if i >= j {
                break;
            }
            a.swap(i, j);
            i += 1;
            j -= 1;
        }
        let (left, right) = a.split_at_mut(j + 1);
        quicksort(left);
        a = right;
    }
    for i in 1..a.len() {
        let x = a[i];
        let mut j = i;
        while j > 0 && a[j - 1] > x {
            a[j] = a[j - 1];
            j -= 1;
        }
        a[j] = x;
    }
}

#[no_mangle]
pub extern "C" fn sort(rounds: i32) -> i64 {
    let (mut x, mut sum) = (SEED, FNV_OFFSET);
    let mut numbers = vec![0u32; 2048];
    for _ in 0..rounds {
        for n in &mut numbers {
            x = xorshift(x);
            *n = (x >> 32) as u32;
        }
        quicksort(&mut numbers);
        for &n in &numbers {
            sum = fnv(sum, n as u64);
        }
    }
    sum as i64
}

// matrix: products of 32 x 32 floats

const DIM: usize = 32;

#[no_mangle]
pub extern "C" fn matrix(rounds: i32) -> i64 {
    let (mut x, mut sum) = (SEED, FNV_OFFSET);
    let (mut a, mut b, mut c) = (vec![0f64; DIM * DIM], vec![0f64; DIM * DIM], vec![0f64; DIM * DIM]);
    for i in 0..DIM * DIM {
        x = xorshift(x);
        a[i] = (x >> 40) as f64;
        b[i] = (x & 0xffff) as f64;
    }
    for r in 0..rounds as usize {
        b[r % (DIM * DIM)] = r as f64;
        for (row, out) in a.chunks_exact(DIM).zip(c.chunks_exact_mut(DIM)) {
            out.fill(0.0);
            for (&f, other) in row.iter().zip(b.chunks_exact(DIM)) {
                for (to, &g) in out.iter_mut().zip(other) {
                    *to += f * g;
                }
            }
        }
        for &v in &c {
            sum = fnv(sum, v as u64);
        }
    }
    sum as i64
}

// fib: recursion

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    fibonacci(n - 1) + fibonacci(n - 2)
}

#[no_mangle]
pub extern "C" fn fib(rounds: i32) -> i64 {
    let mut sum = 0u64;
    for r in 0..rounds {
        sum = sum.wrapping_mul(31).wrapping_add(fibonacci(16 + r as u32 % 3));
    }
    sum as i64
}

// spin: a loop of a few instructions, each of which waits for the one before

#[no_mangle]
pub extern "C" fn spin(rounds: i32) -> i64 {
    let mut x = SEED;
    for _ in 0..rounds as i64 * 1000 {
        x = xorshift(x);
    }
    x as i64
}
