// Which properties of an object are written, in which order, and what each kind of object becomes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { pack, unpack } from '../index.js';
import { packs, stillWorks, throwsCode } from './helpers.mjs';
import { refPack, str } from './reference.mjs';

/** The same answer on the first use, while a shape is learnt, and long after. */
function repeatedly(make, expected) {
  for (let i = 0; i < 80; i++) packs(make(), expected, undefined, `use ${i}`);
}

test('own enumerable string keys only', () => {
  repeatedly(() => ({ [Symbol('s')]: 1, a: 1 }), '81a16101');
  repeatedly(() => Object.defineProperty({ a: 1 }, 'hidden', { value: 2 }), '81a16101');
  repeatedly(() => Object.assign(Object.create({ inherited: 1 }), { own: 2 }), '81a36f776e02');
  repeatedly(() => {
    const value = { a: 1, b: 2, c: 3 };
    Object.defineProperty(value, 'b', { enumerable: false });
    return value;
  }, '82a16101a16303');
  repeatedly(() => {
    const base = { a: 1 };
    const value = Object.create(base);
    Object.defineProperty(value, 'a', { value: 2, enumerable: false });
    value.b = 3;
    return value;
  }, '81a16203');
});

test('class instances and null prototypes', () => {
  class Point {
    #secret = 9;
    static shared = 1;
    constructor(x, y) {
      this.x = x;
      this.y = y;
    }
    get sum() {
      return this.x + this.y + this.#secret;
    }
    method() {}
  }
  repeatedly(() => new Point(1, 2), '82a17801a17902');
  class Point3 extends Point {
    z = 3;
  }
  repeatedly(() => new Point3(1, 2), '83a17801a17902a17a03');
  repeatedly(() => ({ __proto__: null, a: 1 }), '81a16101');
  repeatedly(() => Object.create(null), '80');
  repeatedly(
    () => Object.create(Object.create(null), { a: { value: 1, enumerable: true } }),
    '81a16101',
  );
});

test('the same keys under different prototypes', () => {
  class A {
    constructor(v) {
      this.v = v;
    }
  }
  class B {
    constructor(v) {
      this.v = v;
    }
    toJSON() {
      return `B${this.v}`;
    }
  }
  for (let i = 0; i < 80; i++) {
    packs({ v: 1 }, '81a17601');
    packs(new B(2), 'a24232');
    packs(new A(3), '81a17603');
    packs({ __proto__: null, v: 4 }, '81a17604');
    packs([{ v: 1 }, new B(2), new A(3)], '9381a17601a2423281a17603');
    packs([new B(2), { v: 1 }], '92a2423281a17601');
    packs({ v: new B(7) }, '81a176a24237');
    packs({ v: { v: 7 } }, '81a17681a17607');
  }
});

test('a getter is read exactly once, on every use', () => {
  for (let i = 0; i < 80; i++) {
    let reads = 0;
    const value = {
      a: 1,
      get g() {
        return ++reads;
      },
      z: 2,
    };
    packs(value, '83a16101a16701a17a02');
    assert.equal(reads, 1);
    const list = [{ a: 1, g: 1, z: 2 }, value, { a: 1, g: 1, z: 2 }];
    packs(list, '93 83a16101a16701a17a02 83a16101a16702a17a02 83a16101a16701a17a02');
    assert.equal(reads, 2);
  }
});

test('a getter that changes the type of its value each time', () => {
  const values = [undefined, 'text', 1.5, { a: 1 }, [1], null, () => 1, 5n];
  for (let i = 0; i < 80; i++) {
    let reads = 0;
    const value = {
      get g() {
        reads++;
        return values[(i + reads) % values.length];
      },
    };
    const now = values[(i + 1) % values.length];
    packs(value, refPack({ g: now }));
    assert.equal(reads, 1);
  }
});

test('integer-like keys come first, in order, as strings', () => {
  repeatedly(() => ({ b: 1, 1: 2 }), '82a13102a16201');
  repeatedly(() => ({ 555: 'x' }), '81a3353535a178');
  repeatedly(
    () => ({ z: 0, 10: 1, 9: 2, '01': 3, '-1': 4, 4294967294: 5, 4294967295: 6 }),
    '87 a13902 a2313001 aa3432393439363732393405 a17a00 a2303103 a22d3104 aa3432393439363732393506',
  );
  repeatedly(
    () => ({ abcdef: 1, qqq: 13, 19: [1, 2, 3, 4] }),
    '83 a23139 9401020304 a6616263646566 01 a3717171 0d',
  );
});

test('an own __proto__, constructor, prototype, toString, hasOwnProperty are plain keys', () => {
  repeatedly(
    () => JSON.parse('{"__proto__":{"x":1},"a":2}'),
    '82a95f5f70726f746f5f5f81a17801a16102',
  );
  repeatedly(() => JSON.parse('{"a":2,"__proto__":1}'), '82a16102a95f5f70726f746f5f5f01');
  repeatedly(() => ({ constructor: 1 }), '81ab636f6e7374727563746f7201');
  repeatedly(
    () => ({ prototype: 1, hasOwnProperty: 2 }),
    '82a970726f746f7479706501ae6861734f776e50726f706572747902',
  );
  repeatedly(
    () => ({ toString: 1, valueOf: 2, length: 3 }),
    '83a8746f537472696e6701a776616c75654f6602a66c656e67746803',
  );
});

test('keys that a generated source would trip over', () => {
  const keys = [
    '',
    ' ',
    '"',
    "'",
    '`',
    '\\',
    '\n',
    '\r',
    '\u2028',
    '\u2029',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a key like any other
    '${x}',
    '*/',
    '//',
    '\0',
    '\u00a0',
    'a-b',
    'a b',
    'a.b',
    'class',
    'if',
    'await',
    'NaN',
    '0x1',
    '1e3',
    'é',
    '漢',
    '😀',
    '\ud83d',
    ']',
    '});',
    '__defineGetter__',
    'arguments',
    'this',
    'eval',
    'toJSON\u0000',
    '\u200b',
  ];
  for (const key of keys) {
    repeatedly(
      () => ({ [key]: 1 }),
      Buffer.concat([Buffer.from([0x81]), str(key), Buffer.from([1])]),
    );
  }
  const all = Object.fromEntries(keys.map((key, i) => [key, i]));
  repeatedly(() => ({ ...all }), refPack(all));
});

test('keys differing only where lone surrogates are replaced are both written', () => {
  packs({ '\ud83d': 1, '\ud83e': 2, '\ufffd': 3 }, '83a3efbfbd01a3efbfbd02a3efbfbd03');
});

test('toJSON: own, inherited, of a null prototype, of a function value', () => {
  repeatedly(() => ({ q: 9, toJSON: () => ({ j: 1 }) }), '81a16a01');
  repeatedly(() => Object.create({ toJSON: () => 'inherited' }), 'a9696e68657269746564');
  repeatedly(() => ({ __proto__: null, toJSON: () => 7 }), '07');
  repeatedly(() => ({ a: { toJSON: () => ({ j: 1 }) } }), '81a16181a16a01');
  repeatedly(() => [{ toJSON: () => 1 }, { toJSON: () => 'two' }], '9201a374776f');
  repeatedly(() => new URL('http://a/b'), 'aa687474703a2f2f612f62');
  class Money {
    constructor(amount) {
      this.amount = amount;
    }
    toJSON() {
      return { cents: this.amount * 100 };
    }
  }
  repeatedly(() => ({ price: new Money(1) }), '81a5707269636581a563656e747364');
});

test('toJSON: a non-enumerable or symbol-named or accessor one', () => {
  repeatedly(() => Object.defineProperty({ a: 1 }, 'toJSON', { value: () => 5 }), '05');
  repeatedly(
    () => ({
      a: 1,
      get toJSON() {
        return () => 6;
      },
    }),
    '06',
  );
  repeatedly(() => ({ a: 1, [Symbol('toJSON')]: () => 7 }), '81a16101');
});

test('toJSON: its this is the object, and it is called once', () => {
  for (let i = 0; i < 80; i++) {
    let calls = 0;
    const value = {
      n: 3,
      toJSON() {
        calls++;
        return this === value ? this.n : 'wrong';
      },
    };
    packs({ a: value }, '81a16103');
    assert.equal(calls, 1);
  }
});

test('toJSON: not a function means a key like any other', () => {
  repeatedly(() => ({ toJSON: 1, a: 2 }), '82a6746f4a534f4e01a16102');
  repeatedly(() => ({ toJSON: { x: 1 } }), '81a6746f4a534f4e81a17801');
  repeatedly(() => ({ toJSON: undefined, a: 1 }), '81a16101');
  repeatedly(() => ({ toJSON: null }), '81a6746f4a534f4ec0');
});

test('toJSON: returning itself means a plain object', () => {
  repeatedly(() => {
    const value = { a: 1 };
    Object.defineProperty(value, 'toJSON', { value: () => value });
    return value;
  }, '81a16101');
  class Self {
    b = 2;
    toJSON() {
      return this;
    }
  }
  repeatedly(() => [new Self(), new Self()], '9281a1620281a16202');
  repeatedly(
    () => ({
      a: 1,
      toJSON() {
        return this;
      },
    }),
    '81a16101',
  );
});

test('toJSON: returning undefined, a function or a symbol is as the value itself', () => {
  for (const gone of [undefined, () => 1, Symbol('s')]) {
    repeatedly(() => ({ a: { toJSON: () => gone }, b: 1 }), '81a16201');
    repeatedly(() => [{ toJSON: () => gone }, 1], '92c001');
    repeatedly(() => new Map([['k', { toJSON: () => gone }]]), '81a16bc0');
  }
  packs({ toJSON: () => undefined }, 'c0');
  throwsCode(() => pack({ toJSON: () => () => 1 }), 'ERR_MSGPACK_UNSUPPORTED_TYPE');
  throwsCode(
    () => pack({ a: { toJSON: () => undefined } }, { undefinedAs: 'throw' }),
    'ERR_MSGPACK_UNSUPPORTED_TYPE',
    { path: '$.a' },
  );
  packs({ a: { toJSON: () => undefined } }, '81a161c0', { undefinedAs: 'nil' });
});

test('toJSON: what it returns is packed as that value', () => {
  repeatedly(() => ({ toJSON: () => new Date(0) }), 'd6ff00000000');
  repeatedly(() => ({ toJSON: () => Buffer.from([1]) }), 'c40101');
  repeatedly(() => ({ toJSON: () => new Map([[1, 2]]) }), '810102');
  repeatedly(() => ({ toJSON: () => [undefined, { a: undefined }] }), '92c080');
  repeatedly(() => ({ toJSON: () => 5n }), '05');
  repeatedly(() => ({ toJSON: () => -0 }), 'cb8000000000000000');
  repeatedly(
    () => ({ toJSON: () => ({ inner: { toJSON: () => 'deep' } }) }),
    '81a5696e6e6572a464656570',
  );
  repeatedly(() => ({ toJSON: () => [{ toJSON: () => 1 }] }), '9101');
});

test('toJSON: one that returns ever new objects with toJSON ends', () => {
  class Again {
    a = 1;
    toJSON() {
      return new Again();
    }
  }
  // JSON asks once and writes the result; asking again until the depth limit would be an error.
  packs(new Again(), '81a16101');
  packs([new Again()], '9181a16101');
  stillWorks();
});

test('toJSON: one that throws throws that very error', () => {
  const boom = new Error('boom');
  for (let i = 0; i < 80; i++) {
    const value = {
      a: [
        {
          toJSON() {
            throw boom;
          },
        },
      ],
    };
    assert.throws(
      () => pack(value),
      (error) => error === boom,
    );
    stillWorks();
  }
});

test('toJSON: not called on arrays, nor on their subclasses', () => {
  const list = [1];
  list.toJSON = () => assert.fail('toJSON of an array was called');
  packs(list, '9101');
  class List extends Array {
    toJSON() {
      return assert.fail('toJSON of an Array subclass was called');
    }
  }
  packs(List.of(1, 2), '920102');
});

test('toJSON added to or removed from an object or class between two calls', () => {
  class Late {
    a = 1;
  }
  const value = { a: 1 };
  for (let i = 0; i < 60; i++) {
    packs(value, '81a16101');
    packs(new Late(), '81a16101');
  }
  value.toJSON = () => 2;
  Late.prototype.toJSON = () => 3;
  packs([value, new Late(), { a: 1 }], '930203 81a16101');
  delete value.toJSON;
  delete Late.prototype.toJSON;
  packs([value, new Late(), { a: 1 }], '93 81a16101 81a16101 81a16101');
});

test('boxed primitives are their primitives', () => {
  repeatedly(() => new String('hi'), 'a26869');
  repeatedly(() => new Number(5), '05');
  repeatedly(() => new Number(-0), 'cb8000000000000000');
  repeatedly(() => new Boolean(false), 'c2');
  repeatedly(() => new Boolean(true), 'c3');
  repeatedly(() => Object(1n), '01');
  repeatedly(
    () => ({ a: new String('é'), b: new Number(1.5), c: new Boolean(true), d: Object(2n) }),
    '84 a161 a2c3a9 a162 cb3ff8000000000000 a163 c3 a164 02',
  );
  repeatedly(() => [new Number(NaN), new String('')], '92cb7ff8000000000000a0');
  repeatedly(() => ({ a: Object(Symbol('s')), b: 1 }), '81a16201');
  packs([Object(Symbol('s'))], '91c0');
  throwsCode(() => pack(Object(Symbol('s'))), 'ERR_MSGPACK_UNSUPPORTED_TYPE');
  throwsCode(() => pack(Object(2n ** 64n)), 'ERR_MSGPACK_OUT_OF_RANGE', { path: '$' });
  class Text extends String {}
  packs(new Text('sub'), 'a3737562');
});

test('a RegExp is its string form', () => {
  repeatedly(() => /a\/b/gi, 'a82f615c2f622f6769');
  repeatedly(() => [/x/], '91a32f782f');
  packs({ [Symbol.toStringTag]: 'RegExp' }, '80');
});

test('an Error is name, message and its own enumerable properties', () => {
  repeatedly(() => new Error('boom'), '82a46e616d65a54572726f72a76d657373616765a4626f6f6d');
  repeatedly(() => new TypeError('t'), '82a46e616d65a9547970654572726f72a76d657373616765a174');
  repeatedly(
    () => Object.assign(new Error('e'), { code: 'E1', n: 1 }),
    '84a46e616d65a54572726f72a76d657373616765a165a4636f6465a24531a16e01',
  );
  repeatedly(() => new Error('e', { cause: 1 }), '82a46e616d65a54572726f72a76d657373616765a165');
  repeatedly(
    () => Object.assign(new Error('e'), { gone: undefined, kept: null }),
    '83a46e616d65a54572726f72a76d657373616765a165a46b657074c0',
  );
  class Custom extends Error {
    name = 'Custom';
    detail = { x: 1 };
  }
  repeatedly(
    () => new Custom('c'),
    '83a46e616d65a6437573746f6da76d657373616765a163a664657461696c81a17801',
  );
  const odd = new Error('first');
  Object.defineProperty(odd, 'message', { value: 'second', enumerable: true });
  repeatedly(() => odd, '82a46e616d65a54572726f72a76d657373616765a67365636f6e64');
  repeatedly(() => new Error(), '82a46e616d65a54572726f72a76d657373616765a0');
  repeatedly(
    () => ({ e: new RangeError('r') }),
    '81a16582a46e616d65aa52616e67654572726f72a76d657373616765a172',
  );
});

test('an Error with toJSON is what that returns', () => {
  repeatedly(() => Object.assign(new Error('e'), { toJSON: () => 'json' }), 'a46a736f6e');
});

test('objects with no data of their own are empty maps', () => {
  for (const make of [
    () => new WeakMap(),
    () => new WeakSet(),
    () => Promise.resolve(),
    () => new (class {})(),
    () => new WeakRef({}),
    () => Math,
    () => JSON,
    () => (function* () {})(),
    () => new Map().entries(),
  ]) {
    packs(make(), '80');
  }
});

test('arguments object', () => {
  function args() {
    // biome-ignore lint/complexity/noArguments: what is tested
    return arguments;
  }
  repeatedly(() => args(1, 2), '82a13001a13102');
});

test('Proxies of an object, of an array, of a class instance', () => {
  repeatedly(() => new Proxy({ a: 1, b: 2 }, {}), '82a16101a16202');
  repeatedly(() => new Proxy([1, 'x'], {}), '9201a178');
  repeatedly(() => new Proxy({}, { get: () => 7, has: () => true }), '80');
  repeatedly(
    () => ({ p: new Proxy({ a: 1 }, {}), q: [new Proxy([], {})] }),
    '82a17081a16101a1719190',
  );
  const keys = new Proxy(
    {},
    {
      ownKeys: () => ['x', 'y', Symbol.iterator],
      getOwnPropertyDescriptor: () => ({ value: 0, enumerable: true, configurable: true }),
      get: (_, key) => (key === 'toJSON' ? undefined : `<${String(key)}>`),
    },
  );
  repeatedly(() => keys, '82a178a33c783ea179a33c793e');
});

test('a Proxy reads each property once', () => {
  for (let i = 0; i < 60; i++) {
    const reads = [];
    const proxy = new Proxy(
      { a: 1, b: 2 },
      {
        get(target, key, receiver) {
          if (typeof key === 'string') reads.push(key);
          return Reflect.get(target, key, receiver);
        },
      },
    );
    packs(proxy, '82a16101a16202');
    assert.deepEqual(
      reads.filter((key) => key !== 'toJSON'),
      ['a', 'b'],
    );
  }
});

test('a revoked Proxy throws and leaves nothing behind', () => {
  for (const target of [{}, []]) {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    assert.throws(() => pack(proxy));
    assert.throws(() => pack({ a: [proxy] }));
    stillWorks();
  }
});

test('Proxy of a Date, Map or Buffer is an object, not that', () => {
  // As structured cloning and util.types see it: the proxy has none of the internal slots.
  for (const target of [new Map([[1, 2]]), new Set([1]), /x/]) {
    unpack(pack(new Proxy(target, {})));
  }
  stillWorks();
});

test('frozen, sealed and non-extensible objects', () => {
  repeatedly(() => Object.freeze({ a: 1, b: 'x' }), '82a16101a162a178');
  repeatedly(() => Object.seal({ a: 0.5 }), '81a161cb3fe0000000000000');
  repeatedly(() => Object.preventExtensions({}), '80');
});

test('globalThis-like and function-valued objects', () => {
  packs({ f() {}, g: class {}, h: 1 }, '81a16801');
  const fn = Object.assign(() => 1, { a: 1 });
  packs({ fn }, '80');
  const callable = Object.assign(() => 1, { toJSON: () => 'called' });
  packs([{ a: 1 }, 2], '9281a1610102');
  unpack(pack([callable]));
});

test('an object that merely inherits from a built-in prototype, before and after the real thing', () => {
  const rows = [
    ['Map', 'new Map([[1, 2]])', '810102'],
    ['Set', 'new Set([1])', '9101'],
    ['RegExp', '/x/', 'a32f782f'],
    ['Number', 'new Number(5)', '05'],
    ['String', 'new String("s")', 'a173'],
    ['ArrayBuffer', 'new ArrayBuffer(1)', 'c40100'],
    ['Uint8Array', 'new Uint8Array(1)', 'c40100'],
    ['TypeError', 'new TypeError("t")', '82a46e616d65a9547970654572726f72a76d657373616765a174'],
    ['Date', 'new Date(0)', 'd6ff00000000'],
  ];
  for (const [name, real, expected] of rows) {
    // A new context has prototypes that nothing has been learnt about.
    const context = vm.createContext({});
    const fake = vm.runInContext(`Object.create(${name}.prototype)`, context);
    const value = vm.runInContext(real, context);
    for (let i = 0; i < 3; i++) {
      if (name === 'Date') {
        assert.throws(() => pack(fake), { name: 'TypeError' });
      } else if (name !== 'TypeError') packs(fake, '80', undefined, name);
      else unpack(pack(fake));
      packs(value, expected, undefined, name);
      packs([value, { v: value }], `92${expected}81a176${expected}`, undefined, name);
    }
  }
});

test('a wide object leaves out what has nothing to write, however it says so', () => {
  for (const size of [100, 128, 129, 200, 1000]) {
    for (const gone of [undefined, () => 1, Symbol('s')]) {
      const value = {};
      for (let k = 0; k < size; k++) value[`k${k}`] = k;
      const expected = refPack(value);
      packs({ ...value, gone }, expected, undefined, `${size} keys`);
      packs({ ...value, gone: { toJSON: () => gone } }, expected, undefined, `${size} keys`);
      packs({ ...value, gone: Object(Symbol('s')) }, expected, undefined, `${size} keys`);
      packs({ gone: { toJSON: () => gone }, ...value }, expected, undefined, `${size} keys`);
    }
  }
});
