/** A value that is created at its first use. */
export interface Part<T> {
  get(): Promise<T>;
  /** Undefined until it is created. */
  readonly value: T | undefined;
  /** The value once its creation is done; undefined if it was never requested or its creation failed. */
  made(): Promise<T | undefined>;
}

/** Creates a value once. After a failure the next `get` tries again. */
export function once<T>(make: () => Promise<T>): Part<T> {
  let making: Promise<T> | undefined;
  let value: T | undefined;
  return {
    get() {
      making ??= make().then(
        (made) => {
          value = made;
          return made;
        },
        (error: unknown) => {
          making = undefined;
          throw error;
        },
      );
      return making;
    },
    get value() {
      return value;
    },
    async made() {
      return await making?.catch(() => undefined);
    },
  };
}
