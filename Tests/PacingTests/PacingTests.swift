// Pacing
