// What draws: Preact and htm, from one file.
export {
  html, render, createContext, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useErrorBoundary,
} from '../lib/preact.js';
