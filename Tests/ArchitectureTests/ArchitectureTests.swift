// Architecture
