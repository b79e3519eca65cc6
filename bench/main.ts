/** `npm run bench [name ...]`: every benchmark, or those that are named. Each prints a table with a floor in the same run. */
const BENCHMARKS: Readonly<Record<string, () => Promise<{ run(): Promise<void> }>>> = {
  events: () => import('./events.ts'),
  engine: () => import('./engine.ts'),
  mcp: () => import('./mcp/calls.ts'),
  heap: () => import('./mcp/heap.ts'),
  starts: () => import('./starts/starts.ts'),
  accept: () => import('./run-service/accept.ts'),
  runs: () => import('./run-service/runs.ts'),
  'hosted-runs': () => import('./run-service/hosted-runs.ts'),
  'postgres-runs': () => import('./run-service/postgres-runs.ts'),
  memory: () => import('./run-service/memory.ts'),
  load: () => import('./scenario-server/load.ts'),
  traces: () => import('./run-service/traces.ts'),
  burst: () => import('./sessions/burst.ts'),
  'many-runs': () => import('./sessions/many-runs.ts'),
  chat: () => import('./scenario-server/chat.ts'),
  pages: () => import('./pages/long-trace.ts'),
  list: () => import('./pages/many-runs.ts'),
  sessions: () => import('./sessions/sessions.ts'),
  seats: () => import('./seats/seats.ts'),
  openenv: () => import('./openenv/openenv.ts'),
  'evaluation-overhead': () => import('./evaluations/overhead.ts'),
  evaluations: () => import('./evaluations/evaluations.ts'),
  dataset: () => import('./training/dataset.ts'),
  export: () => import('./formats/export.ts'),
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}.`);
  process.exit(2);
}
for (const name of named.length > 0 ? named : Object.keys(BENCHMARKS)) {
  const benchmark = await BENCHMARKS[name]?.();
  await benchmark?.run();
}
