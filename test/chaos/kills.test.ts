import { describeRows } from './describe-rows.ts';
import { CHAOS_ROWS } from './rows/index.ts';

// The longest row: in a file of its own, so that it runs beside the others.
describeRows(
  'a process that is killed at any point',
  CHAOS_ROWS.filter(({ id }) => id === 'F12'),
);
