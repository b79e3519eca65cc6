import { describe, expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { readTrajectory } from '../../../src/store/formats/atif/read.ts';
import { ATIF_VERSIONS, atifFormat } from '../../../src/store/formats/atif/write.ts';
import { IMPORT_LIMITS } from '../../../src/store/formats/import-limits.ts';
import type { ImportedTrace } from '../../../src/store/formats/imported-trace.ts';
import { InspectHead, Places } from '../../../src/store/formats/inspect/log-head.ts';
import { readJsonLog } from '../../../src/store/formats/inspect/read-log.ts';
import { toSample } from '../../../src/store/formats/inspect/write-sample.ts';
import { jsonlFormat, readOwnTrace } from '../../../src/store/formats/jsonl.ts';
import { ResultRows } from '../../../src/store/formats/verifiers/read.ts';
import { toResultRow } from '../../../src/store/formats/verifiers/write.ts';
import { importedTraceId } from '../../../src/store/traces/import-traces.ts';
import { toSummary } from '../../../src/store/traces/rows/projection.ts';
import { randomTrace } from './random-trace.ts';
import { comparable, readContext, stored, writeContext } from './round-trip.ts';

const SEEDS = Array.from({ length: Number(process.env.ROUND_TRIPS ?? 300) }, (_, index) => index + 1);

const asText = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const FORMATS: Readonly<Record<string, (trace: Trace) => ImportedTrace>> = {
  jsonl: (trace) => readOwnTrace(asText(jsonlFormat.toLine(trace, writeContext())), readContext()),
  ...Object.fromEntries(
    ATIF_VERSIONS.map((version) => [
      `atif ${version}`,
      (trace: Trace) => readTrajectory(asText(atifFormat(version).toLine(trace, writeContext())), readContext()),
    ]),
  ),
  inspect: (trace) => {
    const head = new InspectHead();
    head.add(toSummary(trace));
    const log = { ...head.toJson('log'), samples: [toSample(trace, new Places().of(trace), writeContext())] };
    const [read] = [...readJsonLog(asText(log), readContext(), IMPORT_LIMITS)];
    if (read === undefined) throw new Error('The log has no sample');
    return read;
  },
  verifiers: (trace) => {
    const rows = new ResultRows({ env: undefined, model: undefined });
    return rows.read(asText(toResultRow(trace, 0, writeContext())), readContext());
  },
};

describe.each(Object.entries(FORMATS))('a trace that went through %s', (_name, through) => {
  it('is the trace that it was, but for ids, origin, attempts and logs', () => {
    for (const seed of SEEDS) {
      const trace = randomTrace(seed);
      expect(comparable(stored(through(trace))), `seed ${seed}`).toEqual(comparable(trace));
    }
  });

  it('has the id that it has by any other format, where nothing was lost', () => {
    for (const seed of SEEDS.slice(0, 100)) {
      const trace = randomTrace(seed);
      const byJsonl = readOwnTrace(asText(jsonlFormat.toLine(trace, writeContext())), readContext());
      const ids = [through(trace), byJsonl].map((read) => importedTraceId('local', read, 0));
      expect(ids[0], `seed ${seed}`).toBe(ids[1]);
    }
  });

  it('comes back the same when it goes through once more', () => {
    for (const seed of SEEDS.slice(0, 30)) {
      const once = stored(through(randomTrace(seed)));
      expect(comparable(stored(through(once))), `seed ${seed}`).toEqual(comparable(once));
    }
  });
});
