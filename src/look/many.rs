//! The ways to many values at once: the paths are a tree, and the message is gone through once.

use std::collections::HashMap;

use crate::look::path::{Inside, Key, Path, Rules, Step, index, inside, key, skip_one};
use crate::look::skip::skip;
use crate::tape::{FAULT_INTERNAL, Fault};
use crate::token::{Token, token, truncated};
use crate::unpack::parse::Utf8;

/// Children up to which a key is compared with each of them.
const FEW: usize = 8;

#[derive(Default)]
struct Node<'a> {
    step: Step<'a>,
    index: Option<u32>,
    children: Vec<usize>,
    /// More than a few children by their steps.
    by_text: HashMap<&'a [u8], usize>,
    by_number: HashMap<u64, usize>,
    /// A path ends here.
    is_wanted: bool,
    is_met: bool,
    at: Option<usize>,
}

/// A container on the way.
struct Frame {
    node: usize,
    is_map: bool,
    /// Elements or pairs that are left.
    left: usize,
    /// Children that can be there and have not been met.
    open: usize,
    /// Of an array: which child is next, in the order of their numbers; the number of the next
    /// element; where the one before it starts.
    child: usize,
    element: u32,
    last: usize,
}

/// The root.
const ROOT: usize = 0;

/// A number as `Map` compares keys.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { (number + 0.0).to_bits() }
}

/// Where each of the packed paths leads, by their order.
pub fn find_many(input: &[u8], packed: &[u8], rules: &Rules) -> Result<Vec<Option<usize>>, Fault> {
    let (mut nodes, ends) = tree(packed)?;
    walk(input, &mut nodes, rules)?;
    Ok(ends.into_iter().map(|node| nodes[node].at).collect())
}

/// The paths as a tree, and the node that each of them ends at.
fn tree(packed: &[u8]) -> Result<(Vec<Node<'_>>, Vec<usize>), Fault> {
    let Ok((Token::Array(n), mut pos)) = token(packed, 0) else {
        return Err(Fault::at(FAULT_INTERNAL, 0));
    };
    let mut nodes = vec![Node::default()];
    let mut ends = Vec::new();
    let mut edges = HashMap::new();
    for _ in 0..n {
        let mut path = Path::new(packed, pos)?;
        let mut end = ROOT;
        while let Some(step) = path.step()? {
            let parent = end;
            let edge = (parent, step.text, step.number.map(bits));
            end = *edges.entry(edge).or_insert_with(|| {
                let index = index(&step);
                nodes.push(Node { step, index, ..Node::default() });
                let child = nodes.len() - 1;
                nodes[parent].children.push(child);
                child
            });
        }
        pos = path.end();
        nodes[end].is_wanted = true;
        ends.push(end);
    }
    for parent in 0..nodes.len() {
        if nodes[parent].children.len() <= FEW {
            continue;
        }
        for k in 0..nodes[parent].children.len() {
            let child = nodes[parent].children[k];
            let step = nodes[child].step;
            if let Some(text) = step.text {
                nodes[parent].by_text.insert(text, child);
            }
            if let Some(number) = step.number {
                nodes[parent].by_number.insert(bits(number), child);
            }
        }
    }
    Ok((nodes, ends))
}

fn walk(input: &[u8], nodes: &mut [Node], rules: &Rules) -> Result<(), Fault> {
    let kinds = rules.kinds;
    let mut wanted = nodes.iter().filter(|node| node.is_wanted).count();
    let mut stack: Vec<Frame> = Vec::new();
    // Children of all frames that have not been met. Without any, what follows is not looked at.
    let mut open_in_all = 0;
    let mut pos = 0;
    let mut next = Some(ROOT);
    loop {
        // The value at `pos`, if a path leads to it; it is passed unless a frame is opened for it.
        if let Some(node) = next.take() {
            if pos >= input.len() {
                return Err(truncated(pos));
            }
            let here = &mut nodes[node];
            here.is_met = true;
            here.at = Some(pos);
            wanted -= usize::from(here.is_wanted);
            if wanted == 0 {
                return Ok(());
            }
            match open(input, pos, node, nodes)? {
                Some((frame, first)) => {
                    open_in_all += frame.open;
                    stack.push(frame);
                    pos = first;
                }
                None if open_in_all == 0 => return Ok(()),
                None => pos = skip_one(input, pos, kinds)?,
            }
        }
        let Some(f) = stack.last_mut() else {
            return Ok(());
        };
        if f.open == 0 || f.is_map && f.left == 0 {
            let values = f.left as u64 * if f.is_map { 2 } else { 1 };
            open_in_all -= f.open;
            stack.pop();
            if open_in_all == 0 {
                return Ok(());
            }
            pos = skip(input, pos, values, kinds)?;
            continue;
        }
        if f.is_map {
            f.left -= 1;
            let (key, value) = key(input, pos, kinds)?;
            match child_of(&nodes[f.node], &key, nodes, rules) {
                Some(child) if !nodes[child].is_met => {
                    f.open -= 1;
                    open_in_all -= 1;
                    pos = value;
                    next = Some(child);
                }
                _ => pos = skip_one(input, value, kinds)?,
            }
            continue;
        }
        let child = nodes[f.node].children[f.child];
        f.child += 1;
        let Some(k) = nodes[child].index else {
            continue;
        };
        if f.element > 0 && k == f.element - 1 {
            // '7' and 7, in one pass: the element again.
            pos = f.last;
        } else {
            let passed = (k - f.element) as usize;
            pos = skip(input, pos, passed as u64, kinds)?;
            f.left -= passed + 1;
            f.element = k + 1;
            f.last = pos;
        }
        f.open -= 1;
        open_in_all -= 1;
        next = Some(child);
    }
}

/// A frame for the value at `pos`, if paths lead on from it, and where its first entry is.
fn open(
    input: &[u8],
    pos: usize,
    node: usize,
    nodes: &mut [Node],
) -> Result<Option<(Frame, usize)>, Fault> {
    if nodes[node].children.is_empty() {
        return Ok(None);
    }
    let (is_map, left, first) = match inside(input, pos)? {
        Inside::Array { n, first } => (false, n, first),
        Inside::Map { n, first } => (true, n, first),
        Inside::Nothing => return Ok(None),
    };
    let mut children = std::mem::take(&mut nodes[node].children);
    if !is_map {
        children.sort_by_key(|&child| nodes[child].index);
    }
    let is_there = |&&child: &&usize| {
        is_map || nodes[child].index.is_some_and(|index| (index as usize) < left)
    };
    let open = children.iter().filter(is_there).count();
    nodes[node].children = children;
    Ok(Some((Frame { node, is_map, left, open, child: 0, element: 0, last: 0 }, first)))
}

/// The child that the key leads to.
fn child_of(node: &Node, key: &Key, nodes: &[Node], rules: &Rules) -> Option<usize> {
    if node.children.len() <= FEW {
        return node.children.iter().copied().find(|&child| key.is(&nodes[child].step, rules));
    }
    let by_text = |text: &[u8]| node.by_text.get(text).copied();
    let by_number = |number: f64| node.by_number.get(&bits(number)).copied();
    let candidates = match *key {
        Key::Text(bytes) if rules.utf8 == Utf8::Fatal => [by_text(bytes), None],
        Key::Text(bytes) => [by_text(bytes), by_text(String::from_utf8_lossy(bytes).as_bytes())],
        Key::Number(number) => [None, by_number(number)],
        Key::Wide(int) => [by_text(int.to_string().as_bytes()), by_number(int as f64)],
        Key::Other => [None, None],
    };
    // The tables are wider than the rules.
    candidates.into_iter().flatten().find(|&child| key.is(&nodes[child].step, rules))
}
