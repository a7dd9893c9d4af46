#!/usr/bin/env node
'use strict';

require('../src/cli').mainOf('from-json', 'json2msgpack', process.argv.slice(2));
