// SPDX-License-Identifier: Apache-2.0
// An event loop that calls computePage 60 times, every 20 ms at most. Prints "cpu SECONDS" of its process and "function SECONDS" of computePage.
'use strict';
const begin = process.cpuUsage();
let calls = 0;
let inFunction = 0;

function seconds({user, system}) {
  return (user + system) / 1e6;
}

function computePage() {
  let sum = 0;
  for (let i = 0; i < 1500000; i++)
    sum = (sum * 31 + i) % 1000003;
  return sum;
}

const timer = setInterval(() => {
  const before = process.cpuUsage();
  computePage();
  inFunction += seconds(process.cpuUsage(before));
  if (++calls < 60)
    return;
  clearInterval(timer);
  console.log(`cpu ${seconds(process.cpuUsage(begin))}`);
  console.log(`function ${inFunction}`);
}, 20);
