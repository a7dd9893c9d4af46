// Loaded into a command before it starts: at the end it writes the most memory that it had, in
// kilobytes, where PEAK_MEMORY_FILE says.
'use strict';

const { writeFileSync } = require('node:fs');

process.on('exit', () => {
  writeFileSync(process.env.PEAK_MEMORY_FILE, String(process.resourceUsage().maxRSS));
});
