// What a shared object for Linux asks of the system that loads it, as its dynamic section says it.
// Reads ELF of 64 bits, little endian: x64 and arm64.

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NULL = 0;
const DT_NEEDED = 1;
const DT_STRTAB = 5;
const DT_VERNEED = 0x6ffffffe;
const DT_VERNEEDNUM = 0x6fffffff;

const MACHINES = { 62: 'x64', 183: 'arm64' };

/** The processor, the libraries, and the versions of symbols (`GLIBC_2.28`) that it needs. */
export function elfNeeds(file) {
  if (file.toString('latin1', 0, 4) !== '\x7fELF' || file[4] !== 2 || file[5] !== 1) {
    throw new Error('not an ELF file of 64 bits, little endian');
  }
  const number = (offset) => Number(file.readBigUInt64LE(offset));

  const segments = [];
  for (let i = 0; i < file.readUInt16LE(56); i++) {
    const at = number(32) + i * file.readUInt16LE(54);
    const [offset, address, size] = [number(at + 8), number(at + 16), number(at + 32)];
    segments.push({ type: file.readUInt32LE(at), offset, address, size });
  }
  /** Where in the file an address of the loaded object is. */
  const place = (address) => {
    const holds = (s) => s.type === PT_LOAD && address >= s.address && address < s.address + s.size;
    const segment = segments.find(holds);
    if (segment === undefined) throw new Error(`no segment holds ${address}`);
    return address - segment.address + segment.offset;
  };

  const dynamic = segments.find((s) => s.type === PT_DYNAMIC);
  if (dynamic === undefined) throw new Error('not a shared object');
  const entries = [];
  for (let at = dynamic.offset; number(at) !== DT_NULL; at += 16) {
    entries.push([number(at), number(at + 8)]);
  }
  const entry = (tag) => entries.find(([t]) => t === tag)?.[1];
  const strings = place(entry(DT_STRTAB));
  const string = (offset) =>
    file.toString('latin1', strings + offset, file.indexOf(0, strings + offset));

  const versions = new Set();
  let at = entry(DT_VERNEED) === undefined ? 0 : place(entry(DT_VERNEED));
  for (let i = 0; i < (entry(DT_VERNEEDNUM) ?? 0); i++) {
    let aux = at + file.readUInt32LE(at + 8);
    for (let j = 0; j < file.readUInt16LE(at + 2); j++) {
      versions.add(string(file.readUInt32LE(aux + 8)));
      aux += file.readUInt32LE(aux + 12);
    }
    at += file.readUInt32LE(at + 12);
  }
  return {
    arch: MACHINES[file.readUInt16LE(18)],
    libraries: entries.filter(([tag]) => tag === DT_NEEDED).map(([, offset]) => string(offset)),
    versions: [...versions],
  };
}

/** The newest glibc that is asked for, as [2, 28]; null where none is. */
export function glibcOf({ versions }) {
  const numbers = versions
    .map((version) => version.match(/^GLIBC_(\d+)\.(\d+)/))
    .filter(Boolean)
    .map(([, major, minor]) => [Number(major), Number(minor)])
    .sort(([a, b], [c, d]) => c - a || d - b);
  return numbers[0] ?? null;
}
