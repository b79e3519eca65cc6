/** An error of the ORS protocol, for a status that `ApiError` does not have. */
export class OrsError extends Error {
  override readonly name = 'OrsError';
  readonly status: number;
  readonly detail: string | readonly object[];

  constructor(status: 400 | 404 | 410 | 422 | 500, detail: string | readonly object[]) {
    super(typeof detail === 'string' ? detail : JSON.stringify(detail));
    this.status = status;
    this.detail = detail;
  }
}
