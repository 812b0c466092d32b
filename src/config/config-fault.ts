/** One thing that is wrong with a configuration. Holds no secret. */
export interface ConfigFault {
  /** Where: `policies[2].approvers[0]`; empty for the file as a whole. */
  readonly path: string;
  /** Line of the file, counted from 1; null where none is known. */
  readonly line: number | null;
  /** What, as a sentence whose subject is the path: `names nobody: there is no person zhao`. */
  readonly message: string;
}

export type ConfigPath = readonly (string | number)[];

export const formatPath = (path: ConfigPath): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );

/** `countersign.yaml:12: policies[0].quorum is required`, as the command line prints it. */
export const formatFault = (fileName: string, { path, line, message }: ConfigFault): string =>
  `${fileName}${line === null ? '' : `:${line}`}: ${path === '' ? '' : `${path} `}${message}`;
