//! Where encoded bytes go: first into the caller's slab, and from there to memory of our own when
//! the message turns out not to fit. What is written stays in one piece; only large binaries are
//! left out and noted as splices, so that they are copied once, into the result itself.

use crate::memory;

/// A heap buffer above this is given back after the message that needed it.
const KEEP_BYTES: usize = 1 << 20;

/// A binary of the caller's that belongs at `at` of what is written.
#[derive(Clone, Copy)]
pub struct Splice {
    pub at: usize,
    pub reference: u32,
    pub len: usize,
}

pub struct Out {
    ptr: *mut u8,
    cap: usize,
    pub pos: usize,
    in_slab: bool,
    heap: Vec<u8>,
    pub splices: Vec<Splice>,
    spliced: usize,
}

impl Default for Out {
    fn default() -> Self {
        Out {
            ptr: std::ptr::NonNull::dangling().as_ptr(),
            cap: 0,
            pos: 0,
            in_slab: false,
            heap: Vec::new(),
            splices: Vec::new(),
            spliced: 0,
        }
    }
}

impl Out {
    /// Starts a message whose first `cap` bytes may go to `ptr`.
    ///
    /// # Safety
    /// `ptr` must be valid for writes of `cap` bytes until `leave_slab`, or for as long as anything
    /// is written.
    pub unsafe fn start(&mut self, ptr: *mut u8, cap: usize) {
        self.splices.clear();
        self.spliced = 0;
        self.pos = 0;
        if cap > 0 {
            (self.ptr, self.cap, self.in_slab) = (ptr, cap, true);
        } else {
            self.use_heap();
        }
    }

    fn use_heap(&mut self) {
        self.in_slab = false;
        self.ptr = self.heap.as_mut_ptr();
        self.cap = self.heap.capacity();
    }

    /// Gives memory back after an outlier.
    pub fn trim(&mut self) {
        self.splices.clear();
        self.spliced = 0;
        self.pos = 0;
        if self.heap.capacity() > KEEP_BYTES {
            self.heap = Vec::new();
        }
        self.use_heap();
    }

    pub fn in_slab(&self) -> bool {
        self.in_slab && self.splices.is_empty()
    }

    /// Bytes of the result, splices included.
    pub fn result_len(&self) -> usize {
        self.pos + self.spliced
    }

    /// The bytes written so far, without the splices.
    pub fn written(&self) -> &[u8] {
        // SAFETY: `pos` bytes at `ptr` were written since `start`.
        unsafe { std::slice::from_raw_parts(self.ptr, self.pos) }
    }

    pub fn splice(&mut self, reference: u32, len: usize) {
        self.splices.push(Splice { at: self.pos, reference, len });
        self.spliced += len;
    }

    /// Makes room for `n` more bytes; the unchecked writes below rely on it.
    #[inline(always)]
    pub fn reserve(&mut self, n: usize) {
        if self.cap - self.pos < n {
            self.grow(n);
        }
    }

    /// Moves what is in the slab to memory of our own, with room for `n` more bytes.
    pub fn leave_slab(&mut self, n: usize) {
        if self.in_slab {
            self.heap.clear();
            memory::reserve(&mut self.heap, self.pos + n);
            let slab = self.ptr;
            self.use_heap();
            // SAFETY: the heap has room for `pos + n`, and the slab is other memory.
            unsafe { std::ptr::copy_nonoverlapping(slab, self.ptr, self.pos) };
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, n: usize) {
        if self.in_slab {
            self.leave_slab(n);
        } else {
            // SAFETY: `pos` bytes of the heap buffer are initialised; `reserve` moves just those.
            unsafe { self.heap.set_len(self.pos) };
            memory::reserve(&mut self.heap, n.max(self.pos / 2));
            self.use_heap();
        }
    }

    /// # Safety
    /// `reserve` has made room for the byte.
    #[inline(always)]
    pub unsafe fn put(&mut self, byte: u8) {
        // SAFETY: the caller reserved.
        unsafe { *self.ptr.add(self.pos) = byte };
        self.pos += 1;
    }

    /// # Safety
    /// `reserve` has made room for the bytes.
    #[inline(always)]
    pub unsafe fn put_bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        // SAFETY: the caller reserved.
        unsafe { self.ptr.add(self.pos).cast::<[u8; N]>().write_unaligned(bytes) };
        self.pos += N;
    }

    /// Where the next byte goes.
    #[inline(always)]
    pub fn tail(&mut self) -> *mut u8 {
        // SAFETY: `pos <= cap` always.
        unsafe { self.ptr.add(self.pos) }
    }

    /// Overwrites what is at `at`: the rare header that is corrected afterwards.
    pub fn patch(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.pos);
        // SAFETY: the range was just checked to be inside what was written.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.ptr.add(at), bytes.len()) };
    }

    /// Takes `n` bytes out at `at` and closes the gap.
    pub fn remove(&mut self, at: usize, n: usize) {
        assert!(at + n <= self.pos);
        // SAFETY: both ranges lie inside what was written; `copy` allows them to overlap.
        unsafe {
            let to = self.ptr.add(at);
            std::ptr::copy(to.add(n), to, self.pos - at - n);
        }
        self.pos -= n;
        for splice in self.splices.iter_mut().filter(|splice| splice.at > at) {
            splice.at -= n;
        }
    }

    /// Puts `prefixes` in, each where it belongs, in ascending order.
    pub fn insert<const N: usize>(&mut self, prefixes: &[(usize, [u8; N])]) {
        self.reserve(N * prefixes.len());
        let mut end = self.pos;
        for (count, (at, prefix)) in prefixes.iter().enumerate().rev() {
            assert!(*at <= end);
            // SAFETY: what is behind `at` moves up by as many prefixes as there are up to here, for
            // which room was made.
            unsafe {
                let to = self.ptr.add(at + N * (count + 1));
                std::ptr::copy(self.ptr.add(*at), to, end - at);
                std::ptr::copy_nonoverlapping(prefix.as_ptr(), to.sub(N), N);
            }
            end = *at;
        }
        self.pos += N * prefixes.len();
        for splice in &mut self.splices {
            splice.at += N * prefixes.partition_point(|(at, _)| *at < splice.at);
        }
    }

    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: room was just made, and `bytes` cannot alias memory we hold exclusively.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.tail(), bytes.len()) };
        self.pos += bytes.len();
    }
}
