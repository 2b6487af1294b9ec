// shares.c in JavaScript, for node --perf-basic-prof.
'use strict';

let sink = 0;

function alpha() { for (let i = 0; i < 2 * 3011; i++) sink ^= i; }
function beta() { for (let i = 0; i < 3 * 3011; i++) sink ^= i; }
function gamma() { for (let i = 0; i < 5 * 3011; i++) sink ^= i; }
function left() { alpha(); beta(); return sink; }
function right() { gamma(); return sink; }

require('fs').writeFileSync(process.argv[3], String(process.pid));
const end = Date.now() + 1000 * Number(process.argv[2]);
while (Date.now() < end) {
	for (let i = 0; i < 100; i++) {
		left();
		right();
	}
}
