// Runs executions of a state machine for a test, on clocks that the test advances. It reads
// commands from standard input and writes results to standard output, one JSON object per line:
//
//	{"seq", "world", "machine": {…}}                       the definition for the executions of a world
//	{"seq", "world", "start": NAME, "input": {…}, "at"}    starts an execution
//	{"seq", "world", "call": N, "result" | "error"}        the result of a task's call
//	{"seq", "world", "to": MILLISECONDS}                   advances the clock to this instant and fires the timers due until then
//	{"seq", "world", "abort": NAME}                        aborts an execution
//
// Each command is answered with {"seq", "calls": […], "ended": […], "entered", "next"}: the calls
// made by tasks and the executions ended since the previous answer, how many states were entered
// since then, and when the next timer is due. Waits, retries and time limits all use the world's
// clock.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createInterface } from 'node:readline';

Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new this((a, b) => {
    resolve = a;
    reject = b;
  });
  return { promise, resolve, reject };
};

const inWorld = new AsyncLocalStorage();
const worlds = new Map();
const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now };

class World {
  now = 0;
  timers = new Map();
  lastTimer = 0;
  waiting = new Map();
  lastCall = 0;
  executions = new Map();
  calls = [];
  ended = [];
  entered = 0;
}

class Timer {
  constructor(world, id) {
    this.world = world;
    this.id = id;
  }
}

Date.now = () => inWorld.getStore()?.now ?? real.now();

globalThis.setTimeout = (fn, ms, ...args) => {
  const world = inWorld.getStore();
  if (!world) return real.setTimeout(fn, ms, ...args);
  const timer = new Timer(world, ++world.lastTimer);
  world.timers.set(timer.id, { at: world.now + Math.max(0, ms), fire: () => fn(...args) });
  return timer;
};

globalThis.clearTimeout = (timer) => {
  if (timer instanceof Timer) timer.world.timers.delete(timer.id);
  else real.clearTimeout(timer);
};

const { StateMachine, ExecutionTimeoutError, ExecutionAbortedError } = await import('aws-local-stepfunctions');

function define(world, definition) {
  world.handlers = {};
  for (const [name, state] of Object.entries(definition.States)) {
    if (state.Type === 'Task') world.handlers[name] = (input) => call(world, name, state.Resource, input);
  }
  world.machine = new StateMachine(definition);
}

function call(world, state, resource, input) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const id = ++world.lastCall;
  world.waiting.set(id, { resolve, reject });
  world.calls.push({ call: id, execution: executing.getStore(), state, resource, input });
  return promise;
}

const executing = new AsyncLocalStorage();

function begin(world, name, input) {
  executing.run(name, () => {
    const execution = world.machine.run(input, { overrides: { taskResourceLocalHandlers: world.handlers } });
    world.executions.set(name, execution);
    count(world, execution.eventLogs);
    const end = (status, more) => {
      world.executions.delete(name);
      world.ended.push({ execution: name, status, ...more });
    };
    execution.result.then(
      (output) => end('SUCCEEDED', { output }),
      (err) => {
        if (err instanceof ExecutionTimeoutError) end('TIMED_OUT', {});
        else if (err instanceof ExecutionAbortedError) end('ABORTED', {});
        else end('FAILED', { error: err.wrappedError?.name ?? err.name, cause: String(err.wrappedError?.message ?? err.message) });
      },
    );
  });
}

// count adds up the states that an execution enters.
async function count(world, events) {
  for await (const event of events) if (event.type === 'StateEntered') world.entered++;
}

function settle(world, { call: id, result, error }) {
  const { resolve, reject } = world.waiting.get(id);
  world.waiting.delete(id);
  if (error) reject(Object.assign(new Error(error.message), { name: error.name }));
  else resolve(result);
}

// advance fires the timers due until then, in order.
async function advance(world, to) {
  for (;;) {
    let first;
    for (const [id, t] of world.timers) if (t.at <= to && (!first || t.at < first.at)) first = { id, ...t };
    if (!first) break;
    world.timers.delete(first.id);
    world.now = Math.max(world.now, first.at);
    first.fire();
    await runPending();
  }
  world.now = Math.max(world.now, to);
}

// runPending lets all pending callbacks run.
async function runPending() {
  for (let i = 0; i < 3; i++) await new Promise((done) => setImmediate(done));
}

async function obey(c) {
  let world = worlds.get(c.world);
  if (!world) worlds.set(c.world, (world = new World()));
  await inWorld.run(world, async () => {
    if (c.at !== undefined) world.now = Math.max(world.now, c.at);
    if (c.machine) define(world, c.machine);
    if (c.start) begin(world, c.start, c.input);
    if (c.call) settle(world, c);
    if (c.abort) world.executions.get(c.abort)?.abort();
    if (c.to !== undefined) await advance(world, c.to);
    await runPending();
  });
  const due = [...world.timers.values()].map((t) => t.at);
  const next = due.length ? Math.min(...due) : null;
  const { calls, ended, entered } = world;
  world.calls = [];
  world.ended = [];
  world.entered = 0;
  if (c.close) worlds.delete(c.world);
  process.stdout.write(JSON.stringify({ seq: c.seq, calls, ended, entered, next }) + '\n');
}

let turn = Promise.resolve();
createInterface({ input: process.stdin }).on('line', (line) => {
  turn = turn.then(() => obey(JSON.parse(line))).catch((err) => {
    process.stderr.write(String(err?.stack ?? err) + '\n');
    process.exit(1);
  });
});
