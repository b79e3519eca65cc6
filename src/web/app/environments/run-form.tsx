import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { RunInput } from '../../../contract/service/run.ts';
import { service } from '../api.ts';
import { navigate } from '../navigate.ts';
import { useResource } from '../use-resource.ts';
import { ArgumentField } from './argument-field.tsx';
import { type Field, ownOf, readFields, toFields } from './form-values.ts';
import { COUNT, RUN_SETTINGS, readSettings } from './run-settings.ts';
import { hasProblems, NO_PROBLEMS, startRuns } from './start-runs.ts';

/** Plays the scenario's own solution: it needs no gateway, so that the first run works. */
const FIRST_MODEL = 'proctor/oracle';
const MAX_STEPS = { default: 100, maximum: 500 } as const;

type Texts = Readonly<Record<string, string>>;

/** A form made from the scenario's schema; it starts a run and goes to its trace, or several and goes to their list. */
export function RunForm({ envName, scenario }: { readonly envName: string; readonly scenario: ScenarioEntry }) {
  const fields = toFields(scenario);
  const [texts, setTexts] = useState<Texts>({});
  const [settingTexts, setSettingTexts] = useState<Texts>({});
  const [model, setModel] = useState(FIRST_MODEL);
  const [maxSteps, setMaxSteps] = useState(String(MAX_STEPS.default));
  const [problems, setProblems] = useState(NO_PROBLEMS);
  const [isSending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  // The first problem gets the focus.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [problems]);

  const start = async () => {
    const read = readFields(fields, texts);
    const { settings, count, problems: ofSettings } = readSettings(settingTexts);
    const found = { args: read.problems, settings: ofSettings, form: '' };
    setProblems(found);
    if (hasProblems(found)) return;
    setSending(true);
    const run = {
      env_name: envName,
      scenario_name: scenario.short_name,
      scenario_args: read.args,
      model,
      max_steps: Number(maxSteps),
      ...settings,
    } as RunInput; // The service checks the arguments by the scenario's schema.
    const argNames = fields.map((field) => field.name);
    const started = await startRuns(run, count, argNames);
    if ('path' in started) return navigate(started.path);
    setProblems(started.problems);
    setSending(false);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void start();
  };
  const settings = {
    id: `${id}-setting`,
    texts: settingTexts,
    problems: problems.settings,
    onChange: setSettingTexts,
  } as const;

  return (
    <form ref={form} class="run-form" noValidate onSubmit={submit}>
      {fields.length === 0 ? null : (
        <div class="argument-fields">
          <Fields id={id} fields={fields} texts={texts} problems={problems.args} onChange={setTexts} />
        </div>
      )}
      <div class="field-row">
        <ModelField id={`${id}-model`} model={model} onChange={setModel} />
        <StepsField id={`${id}-steps`} maxSteps={maxSteps} onChange={setMaxSteps} />
        <Fields fields={[COUNT]} {...settings} />
      </div>
      <details
        class="run-settings"
        open={Object.keys(problems.settings).some((name) => name !== COUNT.name) || undefined}
      >
        <summary>Metadata, sampling, seed and timeout</summary>
        <div class="argument-fields">
          <Fields fields={RUN_SETTINGS} {...settings} />
        </div>
      </details>
      {problems.form === '' ? null : (
        <p class="notice bad" role="alert">
          {problems.form}
        </p>
      )}
      <div>
        <button type="submit" class="button main" disabled={isSending}>
          {isSending ? 'Starting…' : 'Start'}
        </button>
      </div>
    </form>
  );
}

interface FieldsProps {
  readonly id: string;
  readonly fields: readonly Field[];
  readonly texts: Texts;
  readonly problems: Texts;
  readonly onChange: (texts: Texts) => void;
}

function Fields({ id, fields, texts, problems, onChange }: FieldsProps) {
  return fields.map((field) => (
    <ArgumentField
      key={field.name}
      id={`${id}-${field.name}`}
      field={field}
      text={ownOf(texts, field.name) ?? field.initial}
      problem={ownOf(problems, field.name)}
      onChange={(text) => onChange({ ...texts, [field.name]: text })}
    />
  ));
}

interface ModelFieldProps {
  readonly id: string;
  readonly model: string;
  readonly onChange: (model: string) => void;
}

function ModelField({ id, model, onChange }: ModelFieldProps) {
  const models = useResource((signal) => service.models.list({ signal }), []).resource;
  return (
    <div class="field">
      <label for={id}>Model</label>
      <input
        id={id}
        list={`${id}s`}
        value={model}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id={`${id}s`}>
        {models.state === 'ready' ? models.value.data.map((each) => <option key={each.id} value={each.id} />) : null}
      </datalist>
    </div>
  );
}

interface StepsFieldProps {
  readonly id: string;
  readonly maxSteps: string;
  readonly onChange: (maxSteps: string) => void;
}

function StepsField({ id, maxSteps, onChange }: StepsFieldProps) {
  return (
    <div class="field">
      <label for={id}>Steps, at most</label>
      <input
        id={id}
        type="number"
        min="1"
        max={MAX_STEPS.maximum}
        value={maxSteps}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </div>
  );
}
