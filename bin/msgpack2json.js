#!/usr/bin/env node
'use strict';

require('../src/cli').mainOf('to-json', 'msgpack2json', process.argv.slice(2));
