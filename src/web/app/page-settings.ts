/** What the server has written into the document (`web/shell`). */
export interface PageSettings {
  readonly csrfToken: string;
  readonly account: string;
  /** `/`: a run service. `/traces`: a scenario server, which has the playground at `/`, and neither runs nor environments to start. */
  readonly runsPath: '/' | '/traces';
}

export const pageSettings: PageSettings = readSettings(document.documentElement.dataset);

/** True where runs can be started and cancelled, and where environments and usage have their pages. */
export const isRunService: boolean = pageSettings.runsPath === '/';

function readSettings({ csrf = '', account = '', runsPath }: DOMStringMap): PageSettings {
  return { csrfToken: csrf, account, runsPath: runsPath === '/traces' ? '/traces' : '/' };
}
