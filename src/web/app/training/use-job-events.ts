import { useEffect, useState } from 'preact/hooks';
import type { TrainingEvent } from '../../../contract/service/training.ts';
import { service } from '../api.ts';

/** Events that a page keeps: a job of days has more than a browser should hold. */
const MAX_EVENTS = 5_000;

/** The events of a job as they come. */
export function useJobEvents(jobId: string): readonly TrainingEvent[] {
  const [events, setEvents] = useState<readonly TrainingEvent[]>([]);
  useEffect(() => {
    const gone = new AbortController();
    setEvents([]);
    const read = async () => {
      for await (const event of service.training.events(jobId, { signal: gone.signal })) {
        setEvents((known) => [...known.slice(1 - MAX_EVENTS), event]);
      }
    };
    // The page says by itself when the server is away.
    read().catch(() => {});
    return () => gone.abort();
  }, [jobId]);
  return events;
}
