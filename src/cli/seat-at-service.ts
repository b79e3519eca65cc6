import { connectService, findScenario } from './run-at-service.ts';
import { scenarioMissing } from './scenario-arguments.ts';
import { type SeatPlan, type SeatSettings, toSeatRequest } from './seat-plan.ts';

/** A seat of a run service, which holds it: that this command is stopped does not end it, so that it is told to. */
export async function openSeatAtService(
  baseUrl: string,
  environment: string,
  scenario: string | undefined,
  settings: SeatSettings,
): Promise<SeatPlan> {
  const service = await connectService(baseUrl);
  const { scenarios } = await service.environments.scenarios(environment);
  if (scenario === undefined) throw scenarioMissing(environment, scenarios, `proctor seat ${environment}`);
  const request = toSeatRequest(environment, findScenario(scenarios, environment, scenario), settings);
  const seat = await service.seats.create(request);
  return {
    seat,
    async ended(stop) {
      const cancel = () => void service.traces.cancel(seat.trace_id).catch(() => {}); // It may be over anyway.
      stop.addEventListener('abort', cancel, { once: true });
      if (stop.aborted) cancel();
      try {
        return await service.runs.wait(seat.trace_id);
      } finally {
        stop.removeEventListener('abort', cancel);
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
