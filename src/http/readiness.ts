/** Whether this process can do its work now: database, migrations, each channel's connection. */
export interface Readiness {
  /** One entry for each thing it needs. A throw counts as not ready. */
  check(): Promise<readonly ReadinessCheck[]>;
}

export interface ReadinessCheck {
  readonly name: string;
  readonly ready: boolean;
  /** One sentence for operators; never a secret. */
  readonly detail: string;
}
