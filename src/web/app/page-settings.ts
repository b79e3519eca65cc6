/** Settings that the server has written into the document (`web/shell`). */
export interface PageSettings {
  readonly csrfToken: string;
  readonly account: string;
  /** `/`: a run service. `/traces`: a scenario server, which has the playground at `/`, and neither runs nor environments to start. */
  readonly runsPath: '/' | '/traces';
  /** Address of the playground; undefined if a run service has none beside it. */
  readonly playground: string | undefined;
  /** The model of the playground's sessions that name none. */
  readonly model: string;
  /** The address of the run service beside a scenario server. */
  readonly runService: string | undefined;
}

export const pageSettings: PageSettings = readSettings(document.documentElement.dataset);

/** True where runs can be started and cancelled, and where environments and usage have their pages. */
export const isRunService: boolean = pageSettings.runsPath === '/';

/** Where somebody talks to a scenario; undefined where no scenario server is known. @param name `<environment>:<scenario>` */
export function talkAddress(name?: string): string | undefined {
  const { playground } = pageSettings;
  if (playground === undefined || name === undefined) return playground;
  return `${playground}?${new URLSearchParams({ scenario: name })}`;
}

function readSettings(given: DOMStringMap): PageSettings {
  const { csrf = '', account = '', runsPath, playground, model = '', runService } = given;
  return {
    csrfToken: csrf,
    account,
    runsPath: runsPath === '/traces' ? '/traces' : '/',
    playground,
    model,
    runService,
  };
}
