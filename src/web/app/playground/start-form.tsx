import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../contract/json.ts';
import { MAX_STEPS } from '../../../contract/names.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import { service } from '../api.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { argumentAt } from '../environments/form-values.ts';
import { pageSettings } from '../page-settings.ts';
import { useResource } from '../use-resource.ts';
import { ArgumentsForm, type ArgumentTexts, NO_TEXTS, readArguments, takesArgument } from './arguments-form.tsx';
import { readScenarios } from './chat.ts';
import { askedScenario } from './place.ts';
import type { TurnPlayer } from './use-turn.ts';

/** Asks for what a session is made of. */
export function StartForm({ player }: { readonly player: TurnPlayer }) {
  const { resource, reload } = useResource(readScenarios, []);
  return (
    <>
      <h1>Start a session</h1>
      <Loaded resource={resource} retry={reload}>
        {({ scenarios }) => {
          const [first] = scenarios;
          if (first === undefined) return <Empty title="The environments of this server have no scenarios." />;
          return <Choices scenarios={scenarios} first={first} player={player} />;
        }}
      </Loaded>
    </>
  );
}

function Choices({
  scenarios,
  first,
  player,
}: {
  readonly scenarios: readonly ScenarioEntry[];
  readonly first: ScenarioEntry;
  readonly player: TurnPlayer;
}) {
  const asked = askedScenario();
  const [name, setName] = useState(scenarios.find((each) => each.name === asked)?.name ?? first.name);
  const [texts, setTexts] = useState<ArgumentTexts>(NO_TEXTS);
  const [model, setModel] = useState(pageSettings.model);
  const [maxSteps, setMaxSteps] = useState('');
  const [message, setMessage] = useState('');
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const scenario = scenarios.find((each) => each.name === name) ?? first;
  const { note } = player;
  const said = note === undefined ? {} : placeOf(note, scenario, texts);
  const shown = { ...problems, ...said };
  // The first field with a problem is where one goes on.
  useEffect(() => {
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid]');
    field?.focus({ preventScroll: true });
    field?.closest('.field')?.scrollIntoView({ block: 'nearest' });
  }, [problems, note]);

  const start = () => {
    player.setNote(undefined);
    const read = readArguments(scenario, texts);
    setProblems(read.problems);
    if (Object.keys(read.problems).length > 0) return;
    void player.play({
      scenario: name,
      scenario_args: read.args as JsonObject, // Read from JSON texts.
      message,
      ...(model.trim() === '' ? {} : { model: model.trim() }),
      ...(maxSteps === '' ? {} : { max_steps: Number(maxSteps) }),
    });
  };

  return (
    <form
      id="choices"
      ref={form}
      class="run-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      <div class="field">
        <label for="scenario">Scenario</label>
        <select
          id="scenario"
          value={name}
          onChange={({ currentTarget }) => {
            setName(currentTarget.value);
            setTexts(NO_TEXTS);
            setProblems({});
            player.setNote(undefined);
          }}
        >
          {groupsOf(scenarios).map(([environment, entries]) => (
            <optgroup key={environment} label={environment}>
              {entries.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.short_name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
        <p class="quiet small scenario-about">{scenario.description}</p>
        <Problem text={shown.scenario} />
      </div>
      <ArgumentsForm scenario={scenario} texts={texts} problems={shown} onChange={setTexts} />
      <ModelField model={model} problem={shown.model} onChange={setModel} />
      <details class="run-settings" open={shown.max_steps !== undefined || undefined}>
        <summary>More</summary>
        <div class="argument-fields">
          <div class="field">
            <label for="max-steps">Steps of a turn, at most</label>
            <input
              id="max-steps"
              type="number"
              min="1"
              max={MAX_STEPS.maximum}
              step="1"
              placeholder={`${MAX_STEPS.default} by default`}
              value={maxSteps}
              aria-invalid={shown.max_steps === undefined ? undefined : true}
              onInput={({ currentTarget }) => setMaxSteps(currentTarget.value)}
            />
            <Problem text={shown.max_steps} />
          </div>
          <div class="field">
            <label for="first">
              First message <span class="quiet">optional, after the prompt</span>
            </label>
            <textarea
              id="first"
              rows={2}
              value={message}
              onInput={({ currentTarget }) => setMessage(currentTarget.value)}
            />
          </div>
        </div>
      </details>
      {note === undefined || Object.keys(said).length > 0 ? null : (
        <p id="start-problem" class={`notice ${note.isBad ? 'bad' : ''}`} role="alert">
          {note.text}
        </p>
      )}
      <div>
        <button type="submit" class="button main" disabled={player.isRunning}>
          Start
        </button>
      </div>
    </form>
  );
}

function ModelField({
  model,
  problem,
  onChange,
}: {
  readonly model: string;
  readonly problem: string | undefined;
  onChange(model: string): void;
}) {
  const { resource } = useResource((signal) => service.models.list({ signal }), []);
  const models = resource.state === 'ready' ? resource.value.data : [];
  return (
    <div class="field">
      <label for="model">Model</label>
      <input
        id="model"
        list="models"
        value={model}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={problem === undefined ? undefined : true}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id="models">
        {models.map(({ id }) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <Problem text={problem} />
    </div>
  );
}

function Problem({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="bad-text small" role="alert">
      {text}
    </p>
  );
}

/** The field that a refusal is about; none: it is about all of them. */
function placeOf(
  { text, param }: NonNullable<TurnPlayer['note']>,
  scenario: ScenarioEntry,
  texts: ArgumentTexts,
): Readonly<Record<string, string>> {
  const argument = argumentAt(param);
  if (argument !== undefined) return takesArgument(scenario, texts, argument) ? { [`args.${argument}`]: text } : {};
  return param === 'scenario' || param === 'model' || param === 'max_steps' ? { [param]: text } : {};
}

function groupsOf(scenarios: readonly ScenarioEntry[]): readonly (readonly [string, readonly ScenarioEntry[]])[] {
  const groups = new Map<string, ScenarioEntry[]>();
  for (const entry of scenarios) {
    const environment = entry.name.slice(0, entry.name.lastIndexOf(':')) || 'scenarios';
    groups.set(environment, [...(groups.get(environment) ?? []), entry]);
  }
  return [...groups];
}
