import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { RunInput } from '../../../contract/run.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import { ApiError } from '../../../service-client/api-error.ts';
import { service } from '../api.ts';
import { navigate } from '../router.ts';
import { METADATA_PREFIX } from '../runs/run-filters.ts';
import { useResource } from '../use-resource.ts';
import { ArgumentField } from './argument-field.tsx';
import { argumentAt, type Field, ownOf, readFields, toFields } from './form-values.ts';
import { BATCH, COUNT, RUN_SETTINGS, readSettings, settingOf } from './run-settings.ts';

/** Plays the scenario's own solution: it needs no gateway, so that the first run works. */
const FIRST_MODEL = 'proctor/oracle';
const MAX_STEPS = { default: 100, maximum: 500 } as const;

/** A form made from the scenario's schema; it starts a run and goes to its trace, or several and goes to their list. */
export function RunForm({ envName, scenario }: { readonly envName: string; readonly scenario: ScenarioEntry }) {
  const fields = toFields(scenario);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [model, setModel] = useState(FIRST_MODEL);
  const [maxSteps, setMaxSteps] = useState(String(MAX_STEPS.default));
  const [settingTexts, setSettingTexts] = useState<Readonly<Record<string, string>>>({});
  const [settingProblems, setSettingProblems] = useState<Readonly<Record<string, string>>>({});
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  const models = useResource((signal) => service.models.list({ signal }), []).resource;
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  // The first problem gets the focus.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [problems, settingProblems]);

  const start = async () => {
    const read = readFields(fields, texts);
    const { settings, count, problems: ofSettings } = readSettings(settingTexts);
    setProblems(read.problems);
    setSettingProblems(ofSettings);
    setProblem('');
    if (Object.keys(read.problems).length + Object.keys(ofSettings).length > 0) return;
    setSending(true);
    const batch = count === 1 ? {} : { [BATCH]: crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? '' };
    let startedCount = 0;
    try {
      const run = {
        env_name: envName,
        scenario_name: scenario.short_name,
        scenario_args: read.args,
        model,
        max_steps: Number(maxSteps),
        ...settings,
        ...(count === 1 ? {} : { metadata: { ...settings.metadata, ...batch } }),
      } as RunInput; // The service checks the arguments by the scenario's schema.
      let traceId = '';
      for (; startedCount < count; startedCount++) traceId = (await service.runs.create(run)).trace_id;
      navigate(count === 1 ? `/traces/${traceId}` : batchPath(batch));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const name = error instanceof ApiError ? argumentAt(error.param) : undefined;
      const setting = settingOf(error instanceof ApiError ? (error.param ?? '') : '');
      if (startedCount > 0)
        setProblem(`${startedCount} of ${count} runs were started, the next one was not: ${message}`);
      else if (setting !== undefined) setSettingProblems({ [setting]: message });
      else if (name !== undefined && fields.some((field) => field.name === name)) setProblems({ [name]: message });
      else setProblem(message);
      setSending(false);
    }
  };

  const toSetting = (field: Field) => (
    <ArgumentField
      key={field.name}
      id={`${id}-setting-${field.name}`}
      field={field}
      text={ownOf(settingTexts, field.name) ?? field.initial}
      problem={ownOf(settingProblems, field.name)}
      onChange={(text) => setSettingTexts({ ...settingTexts, [field.name]: text })}
    />
  );

  return (
    <form
      ref={form}
      class="run-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {fields.length === 0 ? null : (
        <div class="argument-fields">
          {fields.map((field) => (
            <ArgumentField
              key={field.name}
              id={`${id}-${field.name}`}
              field={field}
              text={ownOf(texts, field.name) ?? field.initial}
              problem={ownOf(problems, field.name)}
              onChange={(text) => setTexts({ ...texts, [field.name]: text })}
            />
          ))}
        </div>
      )}
      <div class="field-row">
        <div class="field">
          <label for={`${id}-model`}>Model</label>
          <input
            id={`${id}-model`}
            list={`${id}-models`}
            value={model}
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget }) => setModel(currentTarget.value)}
          />
          <datalist id={`${id}-models`}>
            {models.state === 'ready'
              ? models.value.data.map((each) => <option key={each.id} value={each.id} />)
              : null}
          </datalist>
        </div>
        <div class="field">
          <label for={`${id}-steps`}>Steps, at most</label>
          <input
            id={`${id}-steps`}
            type="number"
            min="1"
            max={MAX_STEPS.maximum}
            value={maxSteps}
            onInput={({ currentTarget }) => setMaxSteps(currentTarget.value)}
          />
        </div>
        {toSetting(COUNT)}
      </div>
      <details
        class="run-settings"
        open={Object.keys(settingProblems).some((name) => name !== COUNT.name) || undefined}
      >
        <summary>Metadata, sampling, seed and timeout</summary>
        <div class="argument-fields">{RUN_SETTINGS.map(toSetting)}</div>
      </details>
      {problem === '' ? null : (
        <p class="notice bad" role="alert">
          {problem}
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

/** The list of the runs that were started together. */
function batchPath(batch: Readonly<Record<string, string>>): string {
  const filters = Object.entries(batch).map(([key, value]) => [`${METADATA_PREFIX}${key}`, value]);
  return `/?${new URLSearchParams(filters)}`;
}
