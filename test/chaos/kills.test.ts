import { describeRows } from './describe-rows.ts';
import { CHAOS_ROWS } from './rows/index.ts';

// The longest rows: in a file of their own, so that they run beside the others.
describeRows(
  'a process that is killed at any point',
  CHAOS_ROWS.filter(({ id }) => id === 'F12' || id === 'F29'),
);
