import { useEffect, useRef } from 'preact/hooks';
import type { JsonObject } from '../../../contract/json.ts';
import type { ScenarioEntry as Scenario } from '../../../contract/scenario.ts';
import { toFields } from '../environments/form-values.ts';
import { Entry } from './entry.tsx';
import { FieldForm } from './field-form.tsx';
import { GameView } from './game-view.tsx';
import { OutcomeView } from './outcome-view.tsx';
import { ScenarioGame, WrongKeyError } from './scenario-game.ts';
import { useAction } from './use-action.ts';

/** A scenario, which a person plays in the place of an agent: setup, tools, answer, evaluation. */
export function ScenarioEntry({
  endpoint,
  harnessKey,
  scenario,
  onWrongKey,
}: {
  readonly endpoint: URL;
  readonly harnessKey: string | undefined;
  readonly scenario: Scenario;
  onWrongKey(): void;
}) {
  const { short_name: name, description } = scenario;
  const { outcome, run, cancel } = useAction<ScenarioGame>();
  const game = useRef<ScenarioGame | undefined>(undefined);
  const close = () => {
    game.current?.close();
    game.current = undefined;
  };
  useEffect(() => close, []);
  const play = (key: string, args: JsonObject) =>
    run(async (options) => {
      close();
      try {
        const started = await ScenarioGame.start(endpoint, key, { name, args }, options);
        game.current = started;
        return started;
      } catch (error) {
        if (error instanceof WrongKeyError) onWrongKey();
        throw error;
      }
    });
  return (
    <Entry name={name} description={description}>
      <FieldForm
        label={`Play ${name}`}
        fields={toFields(scenario)}
        submit={outcome.state === 'done' ? 'Set up again' : 'Set up'}
        isRunning={outcome.state === 'running'}
        onSubmit={(args) => {
          if (harnessKey === undefined) document.querySelector<HTMLElement>('#harness-key input')?.focus();
          else void play(harnessKey, args as JsonObject); // Read from JSON texts.
        }}
        onCancel={cancel}
      >
        {harnessKey === undefined ? (
          <a href="#harness-key" class="small">
            Needs the harness key
          </a>
        ) : null}
      </FieldForm>
      <OutcomeView outcome={outcome} done="Set up">
        {(started) => <GameView key={started.session.id} game={started} />}
      </OutcomeView>
    </Entry>
  );
}
