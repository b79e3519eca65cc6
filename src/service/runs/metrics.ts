import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { TraceEvent } from '../../contract/service/event.ts';
import type { RunQueue } from '../../store/queue/run-queue.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';

export interface RunMetricsOptions {
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Number of runs that this process executes now. */
  activeRuns(): number;
}

/**
 * Adds metrics of the runs of this process and of the shared queue.
 *
 * @returns a function that removes them.
 */
export function addRunMetrics(registry: Registry, { store, queue, activeRuns }: RunMetricsOptions): () => void {
  const registers = [registry];
  const started = new Counter({
    name: 'proctor_run_attempts_started_total',
    help: 'Attempts of runs that this process has started',
    registers,
  });
  const finished = new Counter({
    name: 'proctor_runs_finished_total',
    help: 'Runs that this process has brought to their final state, by that',
    labelNames: ['status'],
    registers,
  });
  for (const status of ['completed', 'failed', 'cancelled']) finished.inc({ status }, 0);
  const modelCalls = new Counter({ name: 'proctor_model_calls_total', help: 'Responses of models', registers });
  const retries = new Counter({
    name: 'proctor_model_retries_total',
    help: 'Requests that were sent again',
    registers,
  });
  const tokens = new Counter({
    name: 'proctor_model_tokens_total',
    help: 'Tokens, as the gateways count them',
    labelNames: ['kind'],
    registers,
  });
  const toolCalls = new Counter({
    name: 'proctor_tool_calls_total',
    help: 'Results of tools, by whether they were errors',
    labelNames: ['is_error'],
    registers,
  });
  const appends = new Histogram({
    name: 'proctor_event_append_duration_seconds',
    help: 'From an event to its commit',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  });
  new Gauge({
    name: 'proctor_queue_entries',
    help: 'Runs in the queue: those that wait for a worker, and those that one holds',
    labelNames: ['state'],
    registers,
    async collect() {
      // A failed queue becomes NaN, so that the other metrics are still served.
      const counts = await queue.counts().catch(() => undefined);
      this.set({ state: 'waiting' }, counts?.waiting ?? Number.NaN);
      this.set({ state: 'leased' }, counts?.leased ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'proctor_runs_active',
    help: 'Runs that this process executes now',
    registers,
    collect() {
      this.set(activeRuns());
    },
  });

  const count = (event: TraceEvent) => {
    switch (event.type) {
      case 'run.started':
        started.inc();
        break;
      case 'model.responded':
        modelCalls.inc();
        retries.inc(event.retries);
        tokens.inc({ kind: 'prompt' }, event.usage.prompt_tokens);
        tokens.inc({ kind: 'completion' }, event.usage.completion_tokens);
        break;
      case 'tool.responded':
        toolCalls.inc({ is_error: String(event.is_error) });
        break;
      case 'run.finished':
        finished.inc({ status: event.status });
        break;
    }
  };
  return store.observe((_traceId, events, durationMs) => {
    appends.observe(durationMs / 1_000);
    for (const event of events) count(event);
  });
}
